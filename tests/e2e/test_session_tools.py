"""What an agent can do to its own session through our tools, and what it cannot."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GREEN = [{"name": "green", "type": "command", "command": "test -e good"}]
# A client in the agent's own turn: its server knows the session by the environment alone.
CLIENT = """\
import asyncio, json, os, sys
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(calls):
    arguments = ["-m", "hookline", "mcp", "--tools", "all"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        for tool, given in calls:
            result = await client.call_tool(tool, given)
            print(tool, "refused" if result.is_error else "done", file=sys.stderr)


asyncio.run(main(json.loads(sys.argv[1])))
"""
TASK: dict[str, Any] = {"taskId": "T-1"}
REGISTER = ("hook_register", {**TASK, "hookType": "promise"})
CLEAR = ("hook_clear", TASK)


def calls(rig: Rig, *wanted: tuple[str, dict[str, Any]]) -> str:
    """A script in which the agent calls tools."""
    client = rig.file("client.py")
    client.write_text(CLIENT)
    return f"{sys.executable} {client} '{json.dumps(wanted)}' 2>> {rig.trace_file}"


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
    rig.turns(rest=f"{calls(rig, *wanted)}; {PROMISE}")
    rig.configure({"stop": ["evidence"]}, validation=GREEN)
    rig.repository()
    assert rig.run(iterations=1).said == (5, "limit", "iterations")
    assert len(rig.trace) == len(wanted)
    assert cli.task("T-1")["state"] == "ready"


def test_a_session_is_completed_by_its_tool(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(calls(rig, ("session_complete", {"summary": "all is done"})))
    rig.configure({})
    assert rig.run(iterations=2).said[:2] == (0, "completed")
    assert rig.trace == ["session_complete done"]


def test_a_session_with_open_tasks_is_not_completed_by_its_tool(cli: Cli) -> None:
    rig = Rig(cli)
    create = ("task_create", {"goal": "a part", "parentTaskId": "T-1"})
    rig.turns(calls(rig, create, ("session_complete", {})))
    rig.configure({})
    assert rig.run(iterations=1).said == (5, "limit", "iterations")
    assert rig.trace == ["task_create done", "session_complete refused"]


def test_hooks_that_an_agent_registers_ask_for_more_and_are_gone_with_the_session(cli: Cli) -> None:
    rig = Rig(cli)
    judge = {**TASK, "hookType": "command", "command": "echo WRITE MORE; test -e more"}
    rig.turns(f"{calls(rig, ('hook_register', judge))}; {PROMISE}", f"touch more; {PROMISE}")
    rig.configure({})
    ended = rig.run(iterations=3)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 2
    assert "WRITE MORE" in rig.prompts()[1].text
    assert [event["nodeId"] for event in cli.events("hooks_cleared")] == ["T-1"]
