"""What an agent can do to its own session through our tools, and what it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GREEN = [{"name": "green", "type": "command", "command": "test -e good"}]
TASK: dict[str, Any] = {"taskId": "T-1"}
REGISTER = ("hook_register", {**TASK, "hookType": "promise"})
CLEAR = ("hook_clear", TASK)


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "wanted",
    [
        [REGISTER],
        [REGISTER, CLEAR, ("session_complete", {"summary": "all is done"})],
        [("task_complete", {**TASK, "result": "done"})],
        [
            ("iteration_start", TASK),
            ("iteration_complete", {**TASK, "completionPromise": "COMPLETE"}),
        ],
    ],
)
def test_no_tool_leads_past_evidence(cli: Cli, wanted: list[tuple[str, dict[str, Any]]]) -> None:
    rig = Rig(cli)
    rig.turns(rest=f"{rig.call_tools(*wanted)}; {PROMISE}")
    rig.configure({"stop": ["evidence"]}, validation=GREEN)
    rig.repository()
    assert rig.run(iterations=1).said == (5, "limit", "iterations")
    assert len(rig.trace) == len(wanted)
    assert cli.task("T-1")["state"] == "needs_continuation"


def test_a_session_is_completed_by_its_tool(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rig.call_tools(("session_complete", {"summary": "all is done"})))
    rig.configure({})
    assert rig.run(iterations=2).said[:2] == (0, "completed")
    assert rig.trace == ["session_complete done"]


def test_a_session_with_open_tasks_is_not_completed_by_its_tool(cli: Cli) -> None:
    rig = Rig(cli)
    create = ("task_create", {"goal": "a part", "parentTaskId": "T-1"})
    rig.turns(rig.call_tools(create, ("session_complete", {})))
    rig.configure({})
    assert rig.run(iterations=1).said == (5, "limit", "iterations")
    assert rig.trace == ["task_create done", "session_complete refused"]


def test_hooks_that_an_agent_registers_ask_for_more_and_are_gone_with_the_session(cli: Cli) -> None:
    rig = Rig(cli)
    judge = {**TASK, "hookType": "command", "command": "echo WRITE MORE; test -e more"}
    rig.turns(f"{rig.call_tools(('hook_register', judge))}; {PROMISE}", f"touch more; {PROMISE}")
    rig.configure({})
    ended = rig.run(iterations=3)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 2
    assert "WRITE MORE" in rig.prompts()[1].text
    assert [event["nodeId"] for event in cli.events("hooks_cleared")] == ["T-1"]
