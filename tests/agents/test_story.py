"""A whole night: Claude Code and Codex work on four tasks, and each reviews the other's work.

    T-1 (claude) -> T-2 (codex), T-3 (claude) -> T-4 (codex)

The test of T-1 fails at first. The worker is killed while T-2 and T-3 are worked on; its successor
goes on with both. Codex gives no verdict about T-3, then asks for changes. T-2 conflicts with T-3,
and Codex may not use git. The model of T-4 takes no more for a moment, and Claude asks for changes.
Whatever has to happen before something else is waited for; nothing here depends on speed.
"""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.agents.model import Reply, Rule
from tests.agents.rig import need_namespaces
from tests.agents.session_desk import DONE, PATIENCE, WORKERS, script
from tests.e2e.conftest import eventually, kill
from tests.e2e.crash_rig import processes_of
from tests.e2e.pipeline_rig import finish, work_ended
from tests.prompts.snapshots import same_as

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel
    from tests.e2e.pipeline_rig import Pipeline

CLAUDE, CODEX = WORKERS["claude-code"], WORKERS["codex"]
PROFILES = {"claude": "claude-code", "codex": "codex"}
CONFIGURATION = """\
session: {model_wait: 1s}
hooks:
  before_submit: [rebase_on_main, run_tests, create_pr]
  before_merge: [{gatekeeper: [claude, codex]}]
task_types:
  claude: {agents: {implementer: [claude]}}
  codex: {agents: {implementer: [codex]}}
"""
APPROVES = {"verdict": "approve", "summary": "It is what was asked for.", "comments": []}
WHOLE_NIGHT = 10 * PATIENCE
pytestmark = [pytest.mark.torture, pytest.mark.timeout(2 * WHOLE_NIGHT)]


def asks(task: str) -> dict[str, object]:
    """A review that asks for changes."""
    sign = {"file": f"parts/{task}", "line": 1, "blocking": True, "comment": "Add your name."}
    return {"verdict": "request_changes", "summary": "It is not signed.", "comments": [sign]}


def reviewed(task: str, *replies: Reply) -> list[Rule]:
    """What the model of a reviewer answers about a task, review by review."""
    return [Rule(rf"another agent on the task {task}\b", each, times=1) for each in replies]


def worked(task: str, *replies: Reply) -> list[Rule]:
    """What the model of the author answers, step by step."""
    return script(rf"This is task {task}\b", *replies)


def the_script(is_merged: threading.Event) -> list[Rule]:
    """All that the two models answer; what stands first is said last."""
    part = "echo begun > parts/{0}; echo {0} >> log"
    keep_both = "printf 'T-1\\nT-3\\nT-2\\n' > log"
    resolve = f"{keep_both}; git add log && git commit --no-edit || printf NOT%s ALLOWED"
    sign = "echo by me >> parts/{}"
    thanks = Reply(text="I signed it.")
    rules = [
        # T-1: its part is not in the log, so its test fails.
        *reviewed("T-1", CODEX.review(APPROVES)),
        *script(
            "`make test` failed on your work",
            Reply(calls=(CLAUDE.shell("echo T-1 >> log"),)),
            Reply(text="The log did not list the part; now it does."),
        ),
        *worked("T-1", Reply(calls=(CLAUDE.shell("echo begun > parts/T-1"),)), DONE),
        # T-2: killed, then slower than T-3, then in conflict with it.
        *reviewed("T-2", CLAUDE.review(APPROVES)),
        *script(
            "Your commits conflict with the newest main",
            Reply(calls=(CODEX.shell(resolve),)),
            Reply(text="The log lists both parts."),
        ),
        Rule(
            r"(?s)This is task T-2\b.*broke off",
            msgspec.structs.replace(DONE, after=is_merged),
            anywhere=True,
            times=1,
        ),
        *worked("T-2", Reply(calls=(CODEX.shell(part.format("T-2")),)), Reply(hold=True)),
        # T-3: killed, then reviewed in words that are no verdict.
        *reviewed("T-3", Reply(text="Looks good to me."), CODEX.review(APPROVES)),
        Rule("Your last answer could not be used", CODEX.review(asks("T-3")), times=1),
        *script(
            r"parts/T-3:1: Add your name", Reply(calls=(CLAUDE.shell(sign.format("T-3")),)), thanks
        ),
        Rule(r"(?s)This is task T-3\b.*broke off", DONE, anywhere=True, times=1),
        *worked("T-3", Reply(calls=(CLAUDE.shell(part.format("T-3")),)), Reply(hold=True)),
        # T-4: its model has too much to do at first.
        *reviewed("T-4", CLAUDE.review(asks("T-4")), CLAUDE.review(APPROVES)),
        *script(
            r"parts/T-4:1: Add your name", Reply(calls=(CODEX.shell(sign.format("T-4")),)), thanks
        ),
        *worked("T-4", Reply(status=429), Reply(calls=(CODEX.shell(part.format("T-4")),)), DONE),
    ]
    return [_counted(each, number) for number, each in enumerate(rules)]


def _counted(rule: Rule, number: int) -> Rule:
    """Each answer uses other numbers of tokens, so that none can stand for another."""
    reply = msgspec.structs.replace(rule.reply, usage=(1000 + number**2, 10 + number))
    return msgspec.structs.replace(rule, reply=reply)


def test_a_whole_night(line: Pipeline, scripted: Script, tmp_path: Path) -> None:
    need_namespaces()
    cli = line.cli
    profiles = {"claude": CLAUDE.profile(), "codex": {**CODEX.profile(), "permissions": "work"}}
    line.begin(CONFIGURATION, agents=f"agents: {json.dumps(profiles)}\n")
    is_merged = threading.Event()
    model = scripted(*the_script(is_merged))
    for each in (CLAUDE, CODEX):
        cli.env |= each.environment(model, tmp_path / "home")
    cli.add("Lay the ground", "--type", "claude", "--deliverable", "parts/T-1")
    cli.add("Build the left", "--type", "codex", "--depends-on", "T-1", "--note", "keep the log")
    cli.add("Build the right", "--type", "claude", "--depends-on", "T-1", "--note", "sign it")
    cli.add("Put on the roof", "--type", "codex", "--depends-on", "T-2", "--depends-on", "T-3")

    first = worker(line)
    until(first, lambda: both_wait(line, model))
    assert line.merges() == ["T-1"]
    kill(first)
    eventually(lambda: not processes_of(cli.root), "the end of all that was started", pause=0.1)
    second = worker(line)
    until(second, lambda: "T-3" in line.merges())
    is_merged.set()
    ended = work_ended(finish(second, WHOLE_NIGHT))

    assert ended["merged"] == ["T-3", "T-2", "T-4"], [each.newest for each in model.requests]
    assert line.merges() == ["T-1", "T-3", "T-2", "T-4"]
    assert len(line.pulls()) == 4
    line.check_main()
    line.check_quiet()
    assert any("NOTALLOWED" in str(each.body) for each in model.requests)
    waits = [each["data"]["reason"] for each in cli.events("session_waits")]
    assert waits == ["model overloaded"]
    for task in ("T-1", "T-2", "T-3", "T-4"):
        assert cost(line, task) == model.counted(branch(task)), task
        same_as(f"story-{task}", told(model, task), {str(cli.root): "/project"})


def worker(line: Pipeline) -> subprocess.Popen[str]:
    """A worker for both agents."""
    return line.cli.start("work", "--once", "--agent", "claude", "--agent", "codex", "--json")


def until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    """Wait for something that a worker is to do, and no longer than it works."""
    eventually(
        lambda: condition() or process.poll() is not None, "what is waited for", WHOLE_NIGHT, 0.2
    )
    assert process.poll() is None, process.communicate()


def both_wait(line: Pipeline, model: ScriptedModel) -> bool:
    """Whether T-2 and T-3 had one step, wait for the answer to it, and Hookline knows of them."""
    for task in ("T-2", "T-3"):
        if sum(f"This is task {task}," in each.history for each in model.requests) < 2:
            return False
    known = "SELECT count(*) FROM effects WHERE conversation IS NOT NULL AND resolved_seq IS NULL"
    return line.cli.rows(known) == [(2,)] and cost(line, "T-3") == model.counted("This is task T-3")


def cost(line: Pipeline, task: str) -> tuple[int, int]:
    cost = line.cli.task(task)["cost"]
    return cost["inputTokens"], cost["outputTokens"]


def branch(task: str) -> str:
    """How whoever works on a task, or reviews it, is told of its branch."""
    return rf"the branch `hookline/{task}`"


def told(model: ScriptedModel, task: str) -> str:
    """What the agents were told about a task, turn by turn."""
    turns = []
    for asked in model.requests:
        if asked.prompt is not None and re.search(branch(task), asked.history):
            agent = "claude" if asked.path.endswith("/messages") else "codex"
            does = "reviews" if "You review the work" in asked.history else "works"
            turns.append(f"===== {agent} {does} =====\n\n{asked.prompt.rstrip()}\n")
    return "\n".join(turns)
