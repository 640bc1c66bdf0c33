"""A task and a base that changed the same things, by lines of shell."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.e2e.conftest import PROGRAM
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from pathlib import Path

GATES = """\
hooks: {before_submit: [rebase_on_main, {run_tests: 'sh ./judge.sh'}]}
gates: {test: 'sh ./judge.sh', tries: 3, method: METHOD}
"""
# The gates and the merged result are held against what both sides meant.
JUDGE = "! grep -rn '^>>>>>>> ' . --include=text* && sh ./wanted.sh\n"
# An agent with such a git can run none, and write nothing of its own.
NO_GIT = 'PATH="$here/none:$PATH"\n'
BOTH = "printf 'first\\nmine\\ntheirs\\nlast\\n' > text\n"
TEXT = "printf 'first\\nmiddle\\nlast\\n' > text\n"
MINE, THEIRS = (f"sed -i s/middle/{word}/ text\n" for word in ("mine", "theirs"))
WANTED = "[ \"$(tr '\\n' ' ' < text)\" = 'first mine theirs last ' ]"
# Conflicts that have no lines, and how the files decide them.
KINDS = """\
printf 'a\\0b' > picture; echo 1 > gone-here; echo 1 > gone-there; ln -s readme link
seq 20 > old-name
"""
MY_KINDS = """\
printf 'a\\0mine' > picture; rm gone-here; echo mine > gone-there; ln -sfn mine link
git mv old-name my-name; echo x > tool
"""
THEIR_KINDS = """\
printf 'a\\0theirs' > picture; echo theirs > gone-here; rm gone-there; ln -sfn theirs link
git mv old-name their-name; echo x > tool; chmod +x tool
"""
DECIDED = """\
mv picture~theirs picture; rm gone-there; ln -sfn readme link; rm my-name; chmod +x tool
"""


class Sides(Pipeline):
    """A task and a base that changed the same things since they parted."""

    def start(self, before: str = "", method: str = "merge", judge: str = "true") -> None:
        """The project with what shell lines leave in it."""
        self.cli.put("judge.sh", JUDGE)
        self.cli.put("wanted.sh", f"{judge}\n")
        self.shell(before, self.cli.root)
        self.begin(GATES.replace("METHOD", method), remote=False)
        none = self.box / "none" / "git"
        none.parent.mkdir()
        none.write_text("#!/bin/sh\necho 'git: no access' >&2\nexit 126\n")
        none.chmod(0o755)

    def shell(self, lines: str, at: Path) -> None:
        """Shell lines that must not fail."""
        done = subprocess.run(
            ("sh", "-ec", lines), cwd=at, env=self.cli.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def part(self, *mine: str, theirs: str) -> str:
        """A task whose commits are made by shell lines each, and the base's commit."""
        task = self.cli.add("bring both sides together")
        place = self.place(task)
        branch = ("-b", f"hookline/{task}", str(place))
        self.git("worktree", "add", "--quiet", *branch, "main")
        for number, lines in enumerate(mine, 1):
            self.shell(lines, place)
            self.commit(f"mine {number}", at=place)
        self.shell(theirs, self.cli.root)
        self.commit("theirs")
        return task

    def submit(self, task: str, code: int = 0) -> str:
        """Submit and merge."""
        done = self.cli("submit", task, "--agent", "bot")
        assert done.code == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def shown(self, name: str) -> str:
        """A file on main."""
        return self.git("show", f"main:{name}")

    def check(self, task: str) -> None:
        """The work is merged once, as commits on top of the base, and nothing is left behind."""
        assert self.merges() == [task]
        assert self.git("log", "--format=%s", "--merges", "main^2", "--not", "main^1") == ""
        assert not self.place(task).exists()
        assert self.git("status", "--porcelain") == ""

    def killed_at(self, task: str) -> None:
        """Submit in a process that something kills, which finds its id in `victim`."""
        begin = f'echo $$ > {self.box}/victim; exec "$@"'
        done = subprocess.run(
            ("sh", "-c", begin, "sh", *PROGRAM, "submit", task, "--agent", "bot"),
            cwd=self.cli.root,
            env=self.cli.env,
            capture_output=True,
        )
        assert done.returncode == -9, done.stderr
