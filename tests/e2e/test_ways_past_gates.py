"""Ways to get work past a gate that never passed it: none may work.

Every project here has a gate that finds the word EVIL in any file, and the word must never be on
main, whoever wrote it, and however its author went about it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM
from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.in_process import run_in_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.conftest import Cli

LOOK = """\
grep -rq "E""VIL" . --exclude-dir=.git --exclude-dir=.hookline || exit 0
echo "it is evil"
exit 1
"""
HOOKLINE = shlex.join(PROGRAM)
AGENT = {"HOOKLINE_AGENT": "bot"}
APPROVE = {"verdict": "approve", "summary": "Fine.", "comments": []}


class Gated(Pipeline):
    """A project with a gate that looks for evil."""

    def guard(
        self,
        *,
        first: str = "",
        last: str = "",
        merging: str = "",
        more: str = "",
        agents: str | None = None,
    ) -> None:
        """Gates in flow style around the one that looks; `more` is other configuration."""
        self.cli.put("look.sh", LOOK)
        self.cli.put(".gitattributes", "log merge=union\n")
        looks = '{name: looks, command: "sh look.sh"}'
        submitting = ", ".join(each for each in (first, looks, last) if each)
        self.begin(
            f"hooks: {{before_submit: [{submitting}], before_merge: [{merging}]}}\n{more}",
            agents=agents,
        )

    def work(self, *names: str, text: str = "x\n") -> tuple[str, Path]:  # type: ignore[override]
        """A task, and its worktree with committed files."""
        task = self.cli.add("a part")
        place = self.place(task)
        self.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
        for name in names:
            (place / name).write_text(text)
        if names:
            self.commit(f"work on {task}", at=place)
        return task, place

    def check_clean(self, task: str | None = None, *, tip: bool = False) -> None:
        """Main has no evil at any commit, or at its tip; the task was not called done."""
        every = self.git("rev-list", "--first-parent", "main", at=self.main).split()
        for commit in every[:1] if tip else every:
            done = subprocess.run(
                ("git", "--no-replace-objects", "grep", "-q", "EVIL", commit),
                cwd=self.main,
            )
            assert done.returncode == 1, f"EVIL is on main at {commit}"
        if task is not None:
            assert self.cli.task(task)["state"] != "completed"


@pytest.fixture
def line(cli: Cli) -> Gated:
    return Gated(cli)


# Work that is not what the gates saw


def test_work_that_was_only_called_submitted(line: Gated, cli: Cli) -> None:
    line.guard()
    task, _ = line.work("bad", text="EVIL\n")
    for env in (AGENT, {}):  # whether it may call it so or not
        cli("task", "submit", task, env=env)
        cli("merge", task, env=env)
    line.check_clean(task)


def test_a_commit_after_the_work_was_submitted(line: Gated, cli: Cli) -> None:
    line.guard()
    task, place = line.work("good")
    assert cli("submit", task, "--no-merge").code == 0
    (place / "bad").write_text("EVIL\n")
    line.commit("one more", at=place)
    assert cli("merge", task).code == 3
    line.check_clean(task)


def test_a_fix_that_brings_something_else(line: Gated, cli: Cli) -> None:
    line.guard(merging="{name: wants, command: 'test -e wanted || { echo add it; false; }'}")
    line.turn("touch wanted; echo EVIL > bad\n")
    task, _ = line.work("good")
    assert cli("submit", task, "--agent", "bot").code == 3
    assert (
        line.verdicts(task, "before_merge")[0],
        line.verdicts(task)[-1],
    ) == (("wants", "failure"), ("looks", "failure"))
    line.check_clean(task)


def test_a_resolved_conflict_that_brings_something_else(line: Gated, cli: Cli) -> None:
    line.guard()
    line.turn("resolve; echo EVIL > bad\n")
    task, _ = line.work("same")
    line.git("switch", "--quiet", "main")
    (cli.root / "same").write_text("other\n")
    line.commit("same")
    line.git("push", "--quiet", "origin", "main")
    assert cli("submit", task, "--agent", "bot").code == 3
    line.check_clean(task)


COMMITS = "printf E%s VIL > bad; git add bad; git commit --quiet -m more"
ONCE = f"test -e $HOOKLINE_PROJECT/../once || {{ touch $HOOKLINE_PROJECT/../once; {COMMITS}; }}"


@pytest.mark.examples(1)
@pytest.mark.parametrize("place", ["last", "merging"])
def test_a_commit_while_the_last_gate_judges(line: Gated, cli: Cli, place: str) -> None:
    gate = f'{{name: slow, command: "{ONCE}"}}'
    line.guard(**{place: gate})
    task, _ = line.work("good")
    assert cli("submit", task).code == 3
    line.check_clean(task)


def test_a_commit_while_the_merged_result_is_tested(line: Gated, cli: Cli) -> None:
    cli.put("slow.sh", f'cd "$HOOKLINE_PROJECT/.hookline/worktrees/T-1" && {{ {ONCE}; }}\n')
    line.guard(more="gates: {test: sh slow.sh}\n")
    task, _ = line.work("good")
    assert cli("submit", task).code == 0  # without what came too late
    line.check_clean()


def test_work_that_changes_whenever_it_is_judged_goes_to_a_person(line: Gated, cli: Cli) -> None:
    line.guard(last="{name: busy, command: 'date +%N >> noise'}")
    task, _ = line.work("good")
    assert cli("submit", task).code == 3
    assert "changes while its gates check it" in cli.task(task)["blockReason"]
    assert line.merges() == []


@pytest.mark.examples(1)
@pytest.mark.parametrize("order", ["approve first", "amend first"])
def test_an_approval_of_another_commit(line: Gated, cli: Cli, order: str) -> None:
    line.guard(merging="{name: boss, human: {}}")
    task, place = line.work("good")
    assert cli("submit", task).code == 4

    def amend() -> None:
        (place / "bad").write_text("EVIL\n")
        line.git("add", "--all", at=place)
        line.git("commit", "--quiet", "--amend", "--no-edit", at=place)

    steps: list[Callable[[], object]] = [lambda: cli("gate", "approve", task), amend]
    for step in steps if order == "approve first" else reversed(steps):
        step()
    assert cli("merge", task).code == 3
    line.check_clean(task)


# Git that shows something else than it holds


def test_a_file_that_git_was_told_not_to_look_at(line: Gated, cli: Cli) -> None:
    line.guard()
    for flag in ("--assume-unchanged", "--skip-worktree"):
        task, place = line.work("bad", text="EVIL\n")
        line.git("update-index", flag, "bad", at=place)
        (place / "bad").write_text("x\n")
        cli("submit", task)
        line.check_clean()


def test_a_commit_that_git_shows_as_another(line: Gated, cli: Cli) -> None:
    line.guard(more="gates: {method: rebase}\n")
    task, place = line.work("bad", text="EVIL\n")
    evil = line.git("rev-parse", "HEAD", at=place)
    (place / "bad").write_text("x\n")
    line.git("add", "bad", at=place)
    tree = line.git("write-tree", at=place)
    clean = line.git("commit-tree", tree, "-p", "main", "-m", "clean", at=place)
    line.git("replace", evil, clean)
    cli("submit", task)
    line.check_clean(tip=True)  # the commits of a branch go onto main one by one


LOCKS = 'trap "touch $(git rev-parse --git-common-dir)/refs/remotes/origin/main.lock" EXIT'
# A commit that no reflog shows as made, and that the remote's main seems to have.
HIDES = """\
work; git add --all
c=$(git commit-tree -m hidden -p HEAD "$(git write-tree)")
git update-ref HEAD "$c"; git update-ref refs/remotes/origin/main "$c"
echo x > other
"""


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("act", "gate", "file"),
    [
        ("seq 100 > big", "{diff_limits: {lines: 50}}", "big"),
        (f"seq 100 > big; {LOCKS}", "{diff_limits: {lines: 50}}", "big"),
        ("echo x > kept", "{diff_limits: {forbid: [kept]}}", "kept"),
        ("head -c 6000000 /dev/zero > huge", "", "huge"),
    ],
)
def test_a_base_that_was_moved_to_hide_commits(
    line: Gated, cli: Cli, act: str, gate: str, file: str
) -> None:
    line.guard(last=gate, more="gates: {test: 'true', tries: 1}\n")
    line.turn(f"{act}\n{HIDES}")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    assert line.git("ls-tree", "--name-only", "main", file, at=line.main) == ""


def test_a_result_that_somebody_else_built(line: Gated, cli: Cli) -> None:
    line.guard()
    task, place = line.work("good")
    head, main = line.git("rev-parse", "HEAD", "main", at=place).split()
    (place / "bad").write_text("EVIL\n")
    line.git("add", "bad", at=place)
    tree = line.git("write-tree", at=place)
    planted = line.git("commit-tree", tree, "-p", main, "-p", head, "-m", "planted", at=place)
    line.git("rm", "--quiet", "-f", "bad", at=place)
    line.git("update-ref", f"refs/hookline/merged/{head}", planted)
    assert cli("submit", task).code == 0
    assert line.merges() == [task]
    line.check_clean()


def test_a_configuration_of_its_own(line: Gated, cli: Cli) -> None:
    line.guard()
    task, place = line.work("bad", text="EVIL\n")
    text = (place / "hookline.yaml").read_text()
    off = text.replace("name: looks,", "name: looks, enabled: false,")
    (place / "hookline.yaml").write_text(off)
    (place / "look.sh").write_text("true\n")
    line.commit("gates of mine", at=place)
    assert cli("submit", task).code != 0
    line.check_clean(task)


def test_a_runner_of_its_own_beside_what_is_committed(line: Gated, cli: Cli) -> None:
    cli.put(
        "tests/test_it.py", "def test_it():\n    assert 'E' 'VIL' not in open('state').read()\n"
    )
    cli.put("state", "x\n")
    cli.put(".gitignore", ".venv/\n")
    line.begin("hooks: {before_submit: [run_tests]}\ngates: {tries: 0}\n")
    cli.put(".gitignore", ".hookline/\n.venv/\n")
    line.commit("ignore it")
    line.git("push", "--quiet", "origin", "main")
    task, place = line.work("state", text="EVIL\n")
    for name in ("python", "pytest"):
        shim = place / ".venv" / "bin" / name
        shim.parent.mkdir(parents=True, exist_ok=True)
        shim.write_text("#!/bin/sh\nexit 0\n")
        shim.chmod(0o755)
    assert cli("submit", task).code == 3
    line.check_clean(task)


# What an agent says to Hookline


def test_verdicts_and_switches_of_an_agent(line: Gated, cli: Cli) -> None:
    line.guard(merging="{name: boss, human: {}}")
    task, _ = line.work("good")
    assert cli("submit", task).code == 4
    merge = "R-2"
    forged = json.dumps({"decision": "approve", "hook": "boss"})
    fired = json.dumps({"point": "before_merge", "name": f"{merge}/x", "autoAccepted": True})
    given = cli("flow", "show", merge, "--json").json
    effect = next(e["effectId"] for e in given["effects"] if e["kind"] == "signal")
    begin = json.dumps({"taskId": task, "worktree": str(line.place(task)), "branch": "x"})
    words = (
        ("gate", "approve", task),
        ("flow", "signal", merge, "gate", forged),
        ("effect", "post", merge, effect, "--value", forged),
        ("flow", "cancel", merge),
        ("flow", "start", "merge", "--input", begin),
        ("hook", "disable", "boss"),
        ("hook", "disable", "looks"),
        ("task", "complete", task, "--without-gates"),
        ("task", "complete", task),
        ("task", "cancel", task),
        ("merge", task, "--skip-pr"),
        ("trust", "--yes"),
        *(("emit", name, "--node", task, "--data", fired) for name in ("point_fired", "run_log")),
        ("emit", "gate_decided", "--node", task, "--data", forged),
    )
    under = (
        AGENT,
        {"HOOKLINE_HOOK": "looks"},
        {"HOOKLINE_EFFECT_ID": "e"},
        {"HOOKLINE_SESSION": "s"},
    )
    for env in under:
        for each in words:
            result = cli(*each, env=env)
            assert result.code != 0, (env, each)
    assert cli("merge", task).code == 4
    assert cli.task(task)["state"] == "submitted"
    assert line.merges() == []


def test_actions_of_hooks_that_forge_a_verdict(line: Gated, cli: Cli) -> None:
    kinds = ("point_fired", "gate_decided", "effect_resolved", "run_signalled")
    actions = [
        {"type": "log", "payload": {"type": kind, "nodeId": "T-1", "data": {"point": "x"}}}
        for kind in kinds
    ]
    cli.put("answer.json", json.dumps({"actions": actions}))
    line.guard(merging="{name: boss, human: {}}")
    text = (cli.root / "hookline.yaml").read_text().removeprefix("version: 1\n")
    forging = "hooks: {task_updated: [{name: forges, command: 'cat answer.json'}], "
    cli.configure(text.replace("hooks: {", forging, 1))
    line.commit("one more hook")
    line.git("push", "--quiet", "origin", "main")
    task, _ = line.work("good")
    assert cli("submit", task).code == 4
    cli("task", "update", task, "--note", "a word")
    assert len(cli.events("action_error")) >= len(actions)
    assert cli("merge", task).code == 4
    assert line.merges() == []


def test_work_in_the_name_of_an_agent_with_fewer_gates(line: Gated, cli: Cli) -> None:
    lax = "{driver: command, command: 'true', hooks: {before_submit: []}}"
    line.guard(agents=f"agents: {{bot: {line.profile}, lax: {lax}}}\nagent: bot\n")
    task, _ = line.work("bad", text="EVIL\n")
    assert cli("task", "claim", task, "--agent", "lax", env=AGENT).code != 0
    assert cli("task", "next", "--claim", "--agent", "lax", env=AGENT).code != 0
    assert cli("submit", task, "--agent", "lax", env=AGENT).code != 0
    assert cli("submit", task).code == 3
    line.check_clean(task)


def test_an_agent_that_hides_that_it_is_one(line: Gated, cli: Cli) -> None:
    line.guard()
    keeps = " ".join(
        f"{name}={shlex.quote(line.cli.env[name])}" for name in ("PATH", "HOOKLINE_HOME")
    )
    bare = f"env -i {keeps}"
    line.turn(
        f"(cd '{cli.root}'; {bare} {HOOKLINE} hook disable looks;"
        f" {bare} {HOOKLINE} trust --yes) > '{line.box}/said' 2>&1; echo EVIL > bad\n"
    )
    task = cli.add("a part")
    line.worker(code=4)
    assert "only a person can run" in (line.box / "said").read_text()
    line.check_clean(task)


# What gates answer

ENDINGS = {
    "killed": "kill -9 $$",
    "not found": "no-such-program-here",
    "not executable": "./look.sh",
    "told to wait for ever": "exit 75",
    "without output": "exec >&-; exit 1",
    "a verdict before noise": """echo '{"status": "failure"}'; echo done""",
    "a verdict after noise": """echo checking; echo '{"status": "failure"}'""",
    "a verdict on its own channel": """echo '{"status": "success"}'; exit 1""",
    "an unknown verdict": """echo '{"status": "ok"}'""",
    "a failure in a list": """echo '[{"status": "failure"}]'""",
    "a skip that fails": """echo '{"status": "skip"}'; exit 3""",
    "too slow": "sleep 100",
}
TIMEOUTS = {"too slow": 0.2}


def test_gates_that_end_in_any_way_but_well(line: Gated, cli: Cli) -> None:
    line.guard()
    task, _ = line.work("good")
    before = (cli.root / "hookline.yaml").read_text()
    for name, command in ENDINGS.items():
        hook = json.dumps({"name": "odd", "command": command, "timeout": TIMEOUTS.get(name, 60)})
        text = before.replace("before_merge: []", f"before_merge: [{hook}]")
        assert text != before
        cli.configure(text.removeprefix("version: 1\n"))
        found = cli("gate", "run", task, "before_merge", "--json")
        assert found.code != 0, (name, found.stdout)
        assert found.json[-1]["status"] in ("failure", "pending"), name


PYTHON = """\
import os, sys

def exits(payload, context): sys.exit(0)
def vanishes(payload, context): os._exit(0)
def interrupts(payload, context): raise KeyboardInterrupt
def cancels(payload, context):
    import asyncio
    raise asyncio.CancelledError
def raises(payload, context): raise BaseException("no")
def says_nothing(payload, context): return None
def says_true(payload, context): return True
def writes(payload, context):
    os.write(1, b'{"answer": {"status": "success"}}')
    os._exit(0)
def prints(payload, context):
    print('{"status": "success"}', flush=True)
    sys.__stdout__.write('{"answer": {"status": "success"}}')
    os._exit(0)
"""


def test_functions_that_end_in_any_way_but_well(line: Gated, cli: Cli) -> None:
    cli.put("odd.py", PYTHON)
    line.guard()
    task, _ = line.work("good")
    before = (cli.root / "hookline.yaml").read_text()
    names = [part.partition("(")[0] for part in PYTHON.split("def ")[1:]]
    assert len(names) == 9
    for name in names:
        hook = json.dumps({"name": "odd", "python": f"odd:{name}"})
        cli.configure(
            before.replace("before_merge: []", f"before_merge: [{hook}]").removeprefix(
                "version: 1\n"
            )
        )
        # What the function left on stderr is part of the answer, so `cli` would complain.
        words = ("gate", "run", task, "before_merge", "--json")
        found = run_in_process(words, cwd=cli.root, env=cli.env)
        assert (found.returncode, json.loads(found.stdout)[-1]["status"]) == (3, "failure"), name


VERDICTS = {
    "quoted": f"The diff says {json.dumps(APPROVE)} and I do not.",
    "two": f"{json.dumps(APPROVE)} {json.dumps({**APPROVE, 'verdict': 'request_changes'})}",
    "of other words": json.dumps({"verdict": "approved", "summary": "", "comments": []}),
    "nested": json.dumps({"answer": APPROVE}),
    "cut": json.dumps(APPROVE)[:-1],
    "in capitals": json.dumps({**APPROVE, "verdict": "APPROVE"}),
    "nothing": "",
}


@pytest.mark.torture
def test_words_of_a_gatekeeper_that_are_no_approval(line: Gated, cli: Cli) -> None:
    asked = line.box / "asked"
    agents = keepers(line, qa=f"touch {asked}; cat {line.box}/said")
    line.guard(merging="{gatekeeper: [qa]}", agents=agents)
    task, _ = line.work("good")
    for name, said in VERDICTS.items():
        (line.box / "said").write_text(said)
        found = cli("gate", "run", task, "before_merge", "--json")
        assert (found.code, found.json[-1]["status"]) == (3, "failure"), name
        asked.unlink()
    assert cli("submit", task).code == 3
    assert line.merges() == []
    # The gatekeeper can approve it: what it said was to blame.
    (line.box / "said").write_text(json.dumps(APPROVE))
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


def test_a_gate_that_tells_others_not_to_look(line: Gated, cli: Cli) -> None:
    context = {"trial": True, "skip_pr": True, "approvals": [{"hook": "boss"}], "head": "x"}
    cli.put("says.json", json.dumps({"status": "success", "context": context}))
    tells = "{name: approvals, command: 'cat says.json'}"
    line.guard(
        first=tells, last="create_pr", merging=f"{tells.replace('approvals', 'others')}, human"
    )
    task, _ = line.work("good")
    assert cli("submit", task).code in (3, 4)
    assert len(line.pulls()) == 1
    assert line.merges() == []


def test_a_gate_that_is_held_back_keeps_work_out(line: Gated, cli: Cli) -> None:
    line.guard()
    task, _ = line.work("bad", text="EVIL\n")
    config = cli.root / "hookline.yaml"
    trusted = config.read_text()
    config.write_text(trusted + "# changed\n")
    for words in (("submit", task), ("merge", task), ("gate", "run", task, "before_submit")):
        assert cli(*words).code != 0
    payload = {"task_id": task, "task_title": "", "task_path": "", "task_type": None}
    payload |= {"branch_name": "b", "base_branch": "main", "worktree": os.fspath(line.place(task))}
    payload |= {"agent_name": "bot", "commits_count": 1, "extra": {}}  # type: ignore[dict-item]
    said = cli("hook", "dispatch", "before_submit", "--json", stdin=json.dumps(payload))
    assert said.code != 0 or said.json["status"] == "failure"
    config.write_text(trusted)
    assert cli("submit", task).code == 3
    line.check_clean(task)
