"""The tools inside of a session: no second loop, and everything that a prompt names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

LOOP = {
    "iteration_start": {"taskId": "T-1"},
    "iteration_validate": {"iterationId": "IT-1"},
    "iteration_next": {"iterationId": "IT-1"},
    "iteration_complete": {"iterationId": "IT-1"},
    "hook_evaluate": {"iterationId": "IT-1"},
}


@pytest.mark.parametrize("tools", [None, "all"])
def test_a_session_runs_the_only_loop(cli: Cli, tools: str | None) -> None:
    task = cli.add("a part")
    env = {
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_SESSION": "s",
        "HOOKLINE_RUN_ID": "R-1",
        "HOOKLINE_TASK_ID": task,
    }
    agent = Agent.in_process(cli, tools=tools, env=env) if tools else Agent.on_stdio(cli, env=env)
    with agent:
        assert "iteration_" not in agent.instructions
        assert "session runs the loop" in agent.instructions
        served = {tool.name for tool in agent.tools().tools}
        assert {"task_get", "task_create", "task_complete", "dep_add", "note_add"} <= served
        assert tools or not served & set(LOOP)
        for tool, arguments in LOOP.items():
            error = agent.refused(tool, **arguments)["error"]
            assert error["code"] == "session-runs-loop"
            assert "session_complete" in error["help"]
        one = agent("task_create", goal="one")["taskId"]
        two = agent("task_create", goal="two")["taskId"]
        agent("dep_add", taskId=two, dependsOn=one)
        assert agent("hook_register", taskId=task, hookType="validation")["enabled"]
    assert cli.events("iteration_started") == []
