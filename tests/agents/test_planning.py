"""The real Claude Code and Codex plan first: what they plan is shown, changed and started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply
from tests.agents.session_desk import DONE, GOAL, PATIENCE, RIGHT, asked, script

if TYPE_CHECKING:
    from tests.agents.conftest import Script, Seat

PLAN, FIRST = "# Plan first", "This is iteration 1 of"
pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.mark.parametrize("agent", [pytest.param("claude-code", marks=pytest.mark.torture), "codex"])
def test_the_plan_of_an_agent_is_shown_changed_and_started_by_a_word(
    seat: Seat, scripted: Script, agent: str
) -> None:
    desk = seat(agent)
    worker, cli = desk.worker, desk.cli
    planning = (
        worker.tool("task_create", goal="write answer.sh"),
        worker.tool("task_create", goal="run check.sh"),
        worker.tool("task_create", goal="celebrate"),
        worker.tool("dep_add", taskId="T-3", dependsOn="T-2"),
    )
    working = (
        worker.write(desk.program, RIGHT),
        *(worker.tool("task_complete", taskId=task) for task in ("T-2", "T-3")),
    )
    model = scripted(
        *script(PLAN, *(Reply(calls=(call,)) for call in planning), Reply(text="Three parts.")),
        *script(FIRST, *(Reply(calls=(call,)) for call in working), DONE),
    )
    desk.sit_down(model)
    shown = cli("run", "--plan", GOAL, "--name", "s", "--agent", "it")
    assert (shown.code, "planned: 3 tasks" in shown.stdout) == (0, True), shown
    for part in ("write answer.sh", "run check.sh", "celebrate"):
        assert part in shown.stdout
    assert cli.task("T-3")["dependsOn"] == ["T-2"]
    assert [cli.task(task)["parentTaskId"] for task in ("T-2", "T-3", "T-4")] == 3 * ["T-1"]
    assert not desk.program.exists()

    cli.json("task", "update", "T-2", "--goal", "write answer.sh in one line", quiet=False)
    cli.json("task", "cancel", "T-4", quiet=False)
    done = desk.resume()
    assert done.said[:2] == (0, "completed"), done
    told = asked(model, FIRST).prompt or ""
    assert "# Tasks (0 of 2 done)\n\n- T-2 (ready): write answer.sh in one line" in told
    assert "celebrate" not in told
    assert '0: you planned: no file changed. You said: "Three parts."' in told
    states = [cli.task(task)["state"] for task in ("T-1", "T-2", "T-3", "T-4")]
    assert states == ["completed", "completed", "completed", "cancelled"]
    cost = cli.task("T-1")["cost"]
    assert [each["role"] for each in cost["roles"]] == ["planner", "implementer"]
    assert (cost["inputTokens"], cost["outputTokens"]) == model.counted()
