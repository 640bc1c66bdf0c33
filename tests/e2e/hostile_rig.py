"""Agents that harm their worktree, what each does, and what must be said about it.

Each act is a script that runs in the worktree of a task, after the work was done; `$user` is the
user's checkout, `$common` its git folder and `$own` the worktree's own folder in there. An act that
a person has to look at names the reason by which the task must be sent back; the others are merged.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.conftest import PROGRAM
from tests.e2e.test_pipeline_crash import Crashes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

CONFIGURATION = """\
hooks: {before_submit: [rebase_on_main, {run_tests: 'make test'}]}
gates: {test: 'make test', tries: 1}
"""


PAST = "past the gates"


class Act(NamedTuple):
    """What an agent does to its worktree, and the reason for which its task must come back."""

    script: str
    reason: str = ""  # empty: the work is merged all the same
    told: str = ""  # what people are told of work that is merged


ACTS = {
    "deletes its worktree": Act('cd / && rm -rf "$place"', r"/T-\d+ is gone"),
    "moves its worktree": Act('cd / && mv "$place" "$place-moved"', r"/T-\d+ is gone"),
    "removes it with git": Act('git worktree remove --force "$place"', r"/T-\d+ is gone"),
    "puts a file in its place": Act('cd / && rm -rf "$place" && echo > "$place"', "is a file"),
    "deletes .git": Act("rm .git", r"/\.git is gone"),
    "deletes the branch": Act(
        'git update-ref -d "refs/heads/$branch"', r"the branch hookline/T-\d+ is gone"
    ),
    "renames the branch": Act(
        'git branch -m "mine-$HOOKLINE_TASK_ID"', r"has mine-T-\d+ checked out"
    ),
    "begins a repository": Act(
        "rm .git && git init --quiet . && git add . && git commit -qm x",
        "is a repository of its own",
    ),
    "initializes again": Act("git init --quiet ."),
    "switches branches": Act(
        'git switch --quiet --create "mine-$HOOKLINE_TASK_ID"',
        r"has mine-T-\d+ checked out",
    ),
    "detaches HEAD": Act("git switch --quiet --detach", "has no branch checked out"),
    "takes main": Act('echo "ref: refs/heads/main" > "$own/HEAD"', "has main checked out"),
    "points .git at the user's": Act('echo "gitdir: $common" > .git', "not to a worktree of this"),
    "links .git to the user's": Act('rm .git && ln -s "$common" .git', r"/\.git is a link to"),
    "points .git at another worktree": Act(
        'git worktree add -q --detach "$box/other" && cp "$box/other/.git" .git',
        "which belongs to",
    ),
    "points the record elsewhere": Act('echo "$user/.git" > "$own/gitdir"', "which belongs to"),
    "points the record nowhere": Act('echo /nowhere/.git > "$own/gitdir"', "which belongs to"),
    "deletes the record": Act('rm -rf "$own"', "not to a worktree of this|which belongs to"),
    "names another repository": Act(
        'git init -q "$box/elsewhere" && echo "$box/elsewhere/.git" > "$own/commondir"',
        "belongs to the repository",
    ),
    "links its worktree to the user's": Act(
        'cd / && mv "$place" "$box/aside" && ln -s "$user" "$place"', "is a link to"
    ),
    "sets core.worktree": Act('git config core.worktree "$box"', r"core\.worktree in config"),
    "sets core.worktree of its own": Act(
        'git config extensions.worktreeConfig true && git config --worktree core.worktree "$user"',
        r"extensions\.worktreeconfig in config",
    ),
    "sets core.bare": Act("git config core.bare true", r"core\.bare in config"),
    "includes settings": Act(
        'printf "[core]\\n\\tfsmonitor = %s\\n" "$trap" > "$box/included"'
        ' && git config include.path "$box/included"',
        r"include\.path in config",
    ),
    "names programs": Act(
        'git config core.fsmonitor "$trap" && git config diff.external "$trap"'
        ' && git config diff.x.textconv "$trap" && echo "* diff=x" >> "$common/info/attributes"'
        ' && git config core.alternateRefsCommand "$trap" && git config core.pager "$trap"'
        ' && git config core.editor "$trap"',
        r"core\.fsmonitor in config",
    ),
    "brings hooks": Act(
        'mkdir .hooks && cp "$trap" .hooks/post-merge && git config core.hooksPath "$PWD/.hooks"',
        r"core\.hookspath in config",
    ),
    "borrows objects": Act(
        'mkdir -p more && echo "$PWD/more" >> "$common/objects/info/alternates"',
        "objects/info/alternates",
    ),
    "replaces its commit": Act(
        "echo broken >> log && git add -A && git commit -qm broken"
        " && git replace HEAD HEAD~1 && git checkout -q -f HEAD -- .",
        "make test",
    ),
    "leaves a rebase": Act(
        "git add -A && git commit -qm mine"
        " && GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1",
        "in the middle of a rebase",
    ),
    "leaves a merge": Act(
        "git add -A && git commit -qm mine"
        " && git merge -q --no-commit --no-ff -s ours"
        ' "$(git commit-tree -p HEAD~1 -m x HEAD~1^{tree})"',
        "in the middle of a merge",
    ),
    "leaves a bisect": Act("git bisect start > /dev/null", "in the middle of a bisect"),
    "nests a repository": Act(
        "git init -q nested && git -C nested commit -q --allow-empty -m x",
        "nested is a repository of its own",
    ),
    "nests the user's repository": Act(
        'mkdir nested && echo "gitdir: $common" > nested/.git', "nested is a repository of its own"
    ),
    "forges a note of ours": Act(
        "git switch -q --detach && git commit -q --allow-empty -m x"
        ' && printf "%s\\n%s\\nrefs/heads/main" "$(git rev-parse HEAD)" "$(git rev-parse main)"'
        ' > "$own/hookline-rebase"',
        "has no branch checked out",
    ),
    "links a lock of ours": Act(
        'ln -sf "$user/.env.local" "$common/hookline/merge.lock-file"', "cannot be written to"
    ),
    "plants a hook": Act('cp "$trap" "$common/hooks/post-merge"', "hooks/post-merge"),
    "filters files": Act(
        'git config filter.x.smudge "$trap" && echo "* filter=x" >> "$common/info/attributes"',
        "info/attributes",
    ),
    "replaces an object": Act(
        "git add -A && git commit -qm mine"
        ' && file=$(git rev-parse HEAD:log | sed "s,..,$common/objects/&/,")'
        ' && other=$(echo x | git hash-object -w --stdin | sed "s,..,$common/objects/&/,")'
        ' && chmod u+w "$file" && cp "$other" "$file"',
        "objects of git are damaged or were replaced",
    ),
    "hides its edits": Act(
        "git add log && git update-index --assume-unchanged log", "git was told not to look at log"
    ),
    "commits in the user's checkout": Act(
        f'new=$(git -C "$user" commit-tree -p HEAD -m "{PAST}" HEAD^{{tree}})'
        f' && git -C "$user" update-ref -m "commit: {PAST}" HEAD "$new"',
        told=f"main holds 1 commit that no gate has checked: [0-9a-f]+ {PAST}",
    ),
    "pushes to main": Act(
        f'git add -A && git commit -qm "{PAST}" && if git remote | grep -q .;'
        " then git push -q origin HEAD:main;"
        ' else git -C "$user" merge -q --ff-only "$(git rev-parse HEAD)"; fi',
        "main has the task's commits|bypassed its gates",
    ),
}
# The acts of the issue that are tried whenever the tests run.
SHORT = (
    "deletes its worktree",
    "deletes .git",
    "deletes the branch",
    "begins a repository",
    "switches branches",
    "points .git at the user's",
    "sets core.worktree of its own",
    "takes main",
    "commits in the user's checkout",
    "pushes to main",
)
# An agent that was killed with its worker must not go on in what is around a broken worktree.
TURN = """\
place=$PWD user={user} common={user}/.git branch=hookline/$HOOKLINE_TASK_ID trap={trap}
own=$common/worktrees/$HOOKLINE_TASK_ID
if [ ! -e "$box.done" ] && [ "$(git rev-parse --show-toplevel)" = "$place" ]; then
work
( set -e
{script}
) > "$box.said" 2>&1 || echo "$HOOKLINE_TASK_ID: $(cat "$box.said")" >> "$here/failed-acts"
touch "$box.done"
fi
"""


_ENTRY = "%(objectmode) %(objectname) 0%x09%(path)"


class Checkout(NamedTuple):
    """What a user sees of a checkout, but for what our merges brought."""

    status: str
    staged: set[str]
    edits: str
    contents: dict[str, str]


class Hostile(Crashes):
    """A user's checkout with work in progress, and agents that harm their worktrees."""

    def __init__(self, cli: Cli, seed: int) -> None:
        super().__init__(cli, seed)
        self.acts: dict[str, str] = {}

    def some(self, number: int) -> list[str]:
        """So many acts in random order, each as often as any other."""
        names = list(ACTS) * (number // len(ACTS) + 1)
        self._random.shuffle(names)
        rest = [name for name in ACTS if name not in names[:number]]
        return names[: number - len(rest)] + rest

    def settle(self, *, remote: bool) -> None:
        """The project, with an edited, a staged and two untracked files in the user's checkout."""
        self.begin(CONFIGURATION, remote=remote)
        self.cli.put(".env.local", "SECRET=1\n")
        self.cli.put("notes/draft", "mine\n")
        self.cli.put("readme", "edited\n")
        self.cli.put("staged", "mine\n")
        self.git("add", "staged")
        trap = self.box / "trap"
        trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.box}/sprung\n')
        trap.chmod(0o755)
        # Whoever starts a worker from a hook of git hands these down.
        self.cli.env |= {"GIT_DIR": str(self.cli.root / ".git"), "GIT_INDEX_FILE": "/nowhere"}
        self.before, self.head = self.look(), self.git("rev-parse", "HEAD")
        shutil.copytree(self.cli.root / ".git" / "info", self.box / "info")
        shutil.copy(self.cli.root / ".git" / "config", self.box / "config")

    def git(self, *args: str, at: Path | None = None) -> str:
        """Run git as the user does."""
        env, self.cli.env = self.cli.env, dict(self.cli.env)
        for name in ("GIT_DIR", "GIT_INDEX_FILE"):
            self.cli.env.pop(name, None)
        try:
            return super().git(*args, at=at)
        finally:
            self.cli.env = env

    def look(self) -> Checkout:
        """The user's checkout as it is."""
        untracked = self.git("ls-files", "--others", "--exclude-standard").splitlines()
        return Checkout(
            self.git("status", "--porcelain", "--untracked-files=all"),
            # The index but for what HEAD has, entry by entry: `mode object 0<tab>name`.
            set(self.git("ls-files", "-s").splitlines())
            ^ set(self.git("ls-tree", "-r", f"--format={_ENTRY}", "HEAD").splitlines()),
            self.git("diff", "HEAD"),
            {name: _digest(self.cli.root / name) for name in untracked},
        )

    def suffer(self, name: str, kills: int = 0) -> None:
        """A task whose agent does this to its worktree, to its end; the worker dies so often."""
        task = self.cli.add(f"part {len(self.acts)}")
        self.acts[task] = name
        script = ACTS[name].script
        self.turn(TURN.format(user=self.cli.root, trap=self.box / "trap", script=script))
        for _ in range(kills):
            if not self._is_settled(task):
                self._die(task)
        for _ in range(20):
            if not self._is_settled(task):
                ended = self.cli("work", "--once", "--json")
        assert self._is_settled(task), (name, ended)
        self.mend()

    def _is_settled(self, task: str) -> bool:
        live = "SELECT count(*) FROM runs WHERE status NOT IN ('completed', 'failed', 'cancelled')"
        settled = self.cli.task(task)["state"] in ("completed", "needs_continuation")
        return settled and self.cli.rows(live)[0][0] == 0

    def _die(self, task: str) -> None:
        """A command that goes on with the task, killed at some moment after its session."""
        live = "SELECT flow FROM runs WHERE status NOT IN ('completed', 'failed', 'cancelled')"
        flows = {flow for (flow,) in self.cli.rows(live)} & {"submit", "merge"}
        verb = self._random.choice(sorted(flows) or ["work"])
        arguments = ("work", "--once") if verb == "work" else (verb, task)
        process = subprocess.Popen(
            (*PROGRAM, *arguments, "--json"),
            cwd=self.cli.root,
            env=self.cli.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        submits = "SELECT count(*) FROM runs WHERE flow = 'submit' AND input LIKE ?"
        while process.poll() is None and not self.cli.rows(submits, f'%"{task}"%')[0][0]:
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._random.uniform(0.0, 1.5))
        if process.poll() is None:
            self._kill(process, verb)
        _, complaint = process.communicate(timeout=90)
        assert "Traceback" not in complaint, complaint

    def mend(self) -> None:
        """What a person does about settings of the repository that an agent changed."""
        shutil.copy(self.box / "config", self.cli.root / ".git" / "config")
        shutil.rmtree(self.cli.root / ".git" / "info")
        shutil.copytree(self.box / "info", self.cli.root / ".git" / "info")
        (self.cli.root / ".git" / "objects" / "info" / "alternates").unlink(missing_ok=True)
        shutil.rmtree(self.cli.root / ".git" / "refs" / "replace", ignore_errors=True)
        shutil.rmtree(self.cli.root / ".git" / "hookline")
        (self.cli.root / ".git" / "hooks" / "post-merge").unlink(missing_ok=True)
        if self.git("log", "-1", "--format=%s", f"{self._theirs}..HEAD") == PAST:
            self.git("update-ref", "-m", "reset", "HEAD", "HEAD~1")

    @property
    def _theirs(self) -> str:
        """The base that counts, as the user's checkout knows it."""
        return "origin/main" if self.has_remote else "main"

    # What must hold

    def check_checkout(self) -> None:
        """The user's checkout moved by our merges alone, and kept what was being worked on."""
        assert self.git("symbolic-ref", "HEAD") == "refs/heads/main"
        self.git("merge-base", "--is-ancestor", self.head, "HEAD")
        marked = "--format=%(trailers:key=Task,valueonly,separator=%x2C)"
        since = ("--first-parent", "--invert-grep", f"--grep=^{PAST}$", f"{self.head}..HEAD")
        moves = self.git("log", marked, *since).split()
        ours = self.git("log", "--format=%H", *since).split()
        assert len(moves) == len(ours), "a commit that is no merge of ours"
        assert self.look() == self.before

    def check_task(self, task: str) -> None:
        """Merged once, or back with the reason that the table names."""
        act, name = ACTS[self.acts[task]], self.acts[task]
        said = f"{task}, whose agent {name}"
        failed = self.box / "failed-acts"
        assert not failed.exists(), failed.read_text()
        merges, state = self.merges().count(task), self.cli.task(task)
        if not act.reason:
            assert (merges, state["state"]) == (1, "completed"), (said, state)
        else:
            assert (merges, state["state"]) == (0, "needs_continuation"), (said, state)
        waiting = [each for each in self.cli("attention", "--json").json if task in str(each)]
        reason = act.reason or act.told
        assert not reason or any(re.search(reason, str(each)) for each in waiting), (said, waiting)

    def check_all(self) -> None:
        """Everything, once nobody works any more."""
        for task in self.acts:
            self.check_task(task)
        self.check_checkout()
        self.check_main()
        assert not (self.box / "sprung").exists(), (self.box / "sprung").read_text()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
