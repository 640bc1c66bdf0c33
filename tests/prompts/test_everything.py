"""Prompts with everything that can be in them at once: what is ours still takes at most 2 KB."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PROGRAM, Cli
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import a_person
from tests.prompts.snapshots import check_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = [
    {"name": "listed", "type": "command", "command": "grep -q T-1 log"},
    {"name": "covered", "type": "coverage", "minimum": 80, "command": "sh cover.sh"},
    {"name": "there", "type": "file_existence", "files": ["docs/a.md", "docs/b.md"]},
]
BEFORE_SUBMIT: list[Any] = [
    "rebase_on_main",
    "run_tests",
    {"lint": "sh lint.sh"},
    "secrets",
    {"diff_limits": {"files": 20, "lines": 400, "forbid": [".github/**"]}},
    {"name": "signed", "command": "test -e signed"},
    "create_pr",
    "ci_status",
]
BEFORE_MERGE: list[Any] = [
    {"gatekeeper": ["qa", "ops"]},
    {"reviews": {"approvals": 2}},
    {"human": "Shall it go in?"},
]
LATE = {"command": "echo 1 test is slow", "pipe_output": True, "deliver": "now"}
# What people and agents wrote, as the prompts show it outside of frames: texts, commands, names.
WORDS = (
    "You write small parts.",
    "- Blue.",
    "Add a part\n\n  It has to be listed in the log.",
    "Shall it go in?",
    "a signed part",
    "sign with a name",
    '"I am at work.", then: "I am at work."',
    '"I am at work."',
    "listed: `grep -q T-1 log`",
    "measured by `sh cover.sh`",
    "`docs/a.md`, `docs/b.md`",
    "tidy: `test -e tidy`",
    "lint: `sh lint.sh`",
    "signed: `test -e signed`",
    "run_tests: `make test`",
    "`sh check.sh`",
    "`test -e signed`",
    "`check.sh`, `cover.sh`, `lint.sh`",
    "`.github/**`",
    "by qa, ops",
    *("rebase_on_main", "secrets", "diff_limits", "create_pr", "ci_status"),
    *("gatekeeper", "reviews", "human", "covered", "there:"),
)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(Cli(tmp_path))
    yield pipeline
    pipeline.cli.close()


def begin(line: Pipeline, **sections: Any) -> str:
    """A project that uses all it can, and a task with all that belongs to one."""
    cli = line.cli
    cli.put("roles/bot.md", "You write small parts.\n")
    for name in ("cover.sh", "lint.sh"):
        cli.put(name, "true\n")
    judge = {"driver": "command", "command": "true"}
    bot = {"driver": "command", "command": f"sh {line.box}/agent.sh", "prompt": "roles/bot.md"}
    hooks = {
        "pre_iteration": [{"command": "echo the build is green", "pipe_output": True}],
        "post_iteration": [LATE],
        "on_error": [{"command": "echo look at the log", "pipe_output": True}],
        "stop": [{"name": "tidy", "command": "test -e tidy"}, "evidence"],
        "before_submit": BEFORE_SUBMIT,
        "before_merge": BEFORE_MERGE,
    }
    settings = {
        "hooks": hooks,
        "validation": RULES,
        "gates": {"test": "sh check.sh", "tries": 1},
        "task_types": {"part": {"agents": {"implementer": ["bot"]}}},
        **sections,
    }
    text = "".join(f"{name}: {json.dumps(each)}\n" for name, each in settings.items())
    agents = {"bot": bot, "qa": judge, "ops": judge}
    line.begin(text, agents=f"agents: {json.dumps(agents)}\n")
    more = ("--deliverable", "a signed part", "--note", "sign with a name")
    task = cli.add("Add a part\n\nIt has to be listed in the log.", "--type", "part", *more)
    assert cli("note", "add", "--kind", "tip", "--task", task, "Mix it yourself.").code == 0
    return task


def test_a_later_iteration_and_what_is_delivered_in_it(line: Pipeline) -> None:
    task = begin(line)
    with a_person(line.cli) as person:
        message = f"{person} {shlex.join(PROGRAM)} session message s Blue."
        line.turn(f"[ $n != 1 ] || {message} > /dev/null; echo I am at work.; exit 0\n")
        line.cli("run", "--task", task, "--agent", "bot", "--iterations", "3", "--name", "s")
    _, _, second, delivery, *_ = line.prompts(task)
    compare(line, "everything", second)
    compare(line, "everything-delivered", delivery)


@pytest.mark.torture
def test_work_that_was_sent_back_and_a_turn_that_broke_off(line: Pipeline) -> None:
    task = begin(line)
    line.by_hand(task)
    line.turn("[ $n != 2 ] || exit 3; echo I am at work.; exit 0\n")
    assert line.cli("submit", task, "--agent", "bot").code == 3
    line.cli("run", "--task", task, "--agent", "bot", "--iterations", "2", "--name", "s")
    fix, first, recovery, delivery, *_ = line.prompts(task)
    compare(line, "everything-fixed", fix)
    compare(line, "everything-sent-back", first)
    compare(line, "everything-recovered", recovery)
    compare(line, "everything-recovered-delivered", delivery)


def compare(line: Pipeline, name: str, prompt: str) -> None:
    theirs = [each for each in WORDS if each in prompt]
    check_prompt(name, prompt, {str(line.cli.root): "/project"}, theirs)
