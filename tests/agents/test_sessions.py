"""Whole sessions of the real Claude Code, Codex and OpenCode, by `hookline run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.session_desk import (
    BACKGROUND,
    DONE,
    FAILED,
    GOAL,
    LIGHT,
    PATIENCE,
    WRONG,
    asked,
    script,
    until_end,
)
from tests.e2e.conftest import eventually, kill
from tests.e2e.session_rig import HOOKLINE

if TYPE_CHECKING:
    from tests.agents.conftest import Script, Seat
    from tests.agents.model import Call
    from tests.agents.session_desk import SessionDesk, Worker
    from tests.e2e.conftest import Cli

FIRST, SECOND = "This is iteration 1 of", "This is iteration 2 of"
RECOVERY = "Your last turn broke off"
pytestmark = pytest.mark.timeout(3 * PATIENCE)
torture = pytest.mark.torture
each_agent = pytest.mark.parametrize("agent", LIGHT)


@pytest.mark.examples(1)
@each_agent
def test_an_agent_waits_hears_its_failing_test_mends_it_and_is_believed_when_proven(
    seat: Seat, scripted: Script, agent: str
) -> None:
    """What it claims before the proof is not believed. Codex's model is overloaded at first."""
    desk = seat(agent)
    worker = desk.worker
    calls = (
        worker.write(desk.program, WRONG),
        *claims(worker),
        worker.tool("note_add", kind="learning", text="the answer is not 41"),
        worker.tool("task_create", goal="find the question"),
        worker.shell(f"{HOOKLINE} session stop s"),
    )
    # How each driver hears of it is tested with the driver; how a session waits needs only one.
    overloaded = [Rule("", Reply(status=529), times=1)] if agent == "codex" else []
    model = scripted(
        *overloaded,
        *script(FIRST, *(Reply(calls=(call,)) for call in calls), DONE),
        *script(SECOND, *desk.mending(), DONE),
    )
    desk.sit_down(model, session={"model_wait": "1s"})
    ended = desk.work()
    assert ended.said[:2] == (0, "completed"), ended
    assert ended.data["iterations"] == 2
    waits = [each["reason"] for each in desk.data("session_waits")]
    assert waits == ["model overloaded"] * len(overloaded)

    first, second = asked(model, FIRST).newest, asked(model, SECOND).newest
    assert FAILED not in first
    assert GOAL in second
    assert f"[post_iteration: tests]\nexit code 1\n{FAILED}" in second
    assert "learning: the answer is not 41" in second
    told = "\n".join(request.newest for request in model.requests)
    assert "only a person can run `hookline session stop`; this runs under an agent" in told
    assert len(desk.cli.events("session_promise")) == 2
    tools_wrote(desk.cli)
    hooks_decided(desk)


def claims(worker: Worker) -> tuple[Call, ...]:
    """All that an agent's tools can say to be believed: none is a proof."""
    return (
        worker.tool("hook_register", taskId="T-1", hookType="promise"),
        worker.tool("hook_clear", taskId="T-1"),
        worker.tool("hook_register", taskId="T-1", hookType="promise"),
        worker.tool("task_complete", taskId="T-1", result="done"),
        worker.tool("session_complete", summary="done"),
    )


def tools_wrote(cli: Cli) -> None:
    """What the agent said through Hookline's tools is kept, and that it was the agent."""
    for kind in ("note_added", "task_created"):
        found = cli.events(kind)[-1]["metadata"]
        assert (found["triggeredBy"], found["session"], found["run"]) == ("it", "s", "R-1")
        assert found["iteration"] == 1
    assert [note["text"] for note in cli.json("note", "list")] == ["the answer is not 41"]
    part = cli.task("T-2")
    assert (part["goal"], part["parentTaskId"]) == ("find the question", "T-1")
    assert cli.task("T-1")["state"] == "completed"


def hooks_decided(desk: SessionDesk) -> None:
    """Each iteration was tested, and only the one that was proven ended the session."""
    went_on, done = desk.data("session_iteration_ended")
    assert (went_on["decision"], went_on["passed"], went_on["rules"]) == ("continue", 0, 1)
    assert (done["decision"], done["passed"], done["hook"]) == ("complete", 1, "proof")
    assert went_on["filesModified"] == done["filesModified"] == ["answer.sh"]
    assert desk.cli.calls("tests", "status, exit_code") == [("ok", 1), ("ok", 0)]
    why = desk.cli("why", "proof").stdout
    assert "Proven: tests_pass passed on a diff of 1 file" in why


# What kills Claude Code in test_cut_turns.py is the same kill; here it is Codex, which is cheaper.
@pytest.mark.torture
@pytest.mark.parametrize("agent", [pytest.param("claude-code", marks=torture), *LIGHT[1:]])
def test_after_a_kill_the_conversation_goes_on_and_nobody_edits_beside_it(
    seat: Seat, scripted: Script, agent: str
) -> None:
    desk = seat(agent)
    worker, cli = desk.worker, desk.cli
    model = scripted(
        *script(RECOVERY, *desk.mending(), Reply(text="The program is right now.")),
        *script(
            FIRST,
            Reply(calls=(worker.write(desk.program, WRONG),)),
            Reply(calls=(worker.shell(BACKGROUND),)),
            Reply(hold=True),
        ),
        *script(SECOND, DONE),
    )
    desk.sit_down(model)
    process = desk.begin()
    model.wait_for(3, PATIENCE)
    pid_file = cli.root / "editor.pid"
    eventually(lambda: pid_file.exists() and bool(pid_file.read_text().strip()), "the editor")
    editor = int(pid_file.read_text())
    at_work = desk.agents_at_work()
    assert editor in {pid for pid, _ in at_work}
    kill(process)

    again = cli.start("run", "--resume", "--json")
    model.wait_for(4, PATIENCE)
    assert not at_work & desk.agents_at_work()
    ended = until_end(again)
    assert ended.said[:2] == (0, "completed"), ended
    assert not desk.agents_at_work()

    recovery = asked(model, RECOVERY)
    assert recovery is model.requests[3]
    assert "the agent was interrupted" in recovery.newest
    assert FIRST in recovery.history
    assert recovery.answers >= 2  # those of the turn that was cut off
    broken, done = desk.data("session_iteration_ended")
    assert (broken["status"], broken["error"]) == ("ok", "the agent was interrupted")
    assert (done["status"], done["decision"]) == ("ok", "complete")
    assert cli.task("T-1")["state"] == "completed"


@torture
def test_no_way_leads_an_agent_past_a_configured_proof(seat: Seat, scripted: Script) -> None:
    desk = seat("claude-code")
    worker, cli = desk.worker, desk.cli
    ways = (
        worker.write(desk.program, WRONG),
        *claims(worker),
        worker.shell(f"{HOOKLINE} hook disable proof; {HOOKLINE} trust --yes"),
        worker.shell(f"{HOOKLINE} task complete T-1; {HOOKLINE} session stop s"),
        worker.shell(f"{HOOKLINE} gate approve T-1"),
    )
    model = scripted(*script(FIRST, *(Reply(calls=(call,)) for call in ways)), Rule("", DONE))
    desk.sit_down(model)
    ended = desk.work(iterations=1)
    assert ended.said == (5, "limit", "iterations"), ended
    told = "\n".join(request.newest for request in model.requests)
    for command in ("hook enable|disable", "trust", "session stop"):
        assert f"only a person can run `hookline {command}`; this runs under an agent" in told

    assert [each["data"]["hookType"] for each in cli.events("hook_registered")] == ["promise"] * 2
    assert [each["data"]["hooksCleared"] for each in cli.events("hooks_cleared")][:1] == [1]
    assert len(cli.events("session_promise")) == 3
    (iteration,) = desk.data("session_iteration_ended")
    assert (iteration["decision"], iteration["passed"], iteration["rules"]) == ("continue", 0, 1)
    assert "tests_pass, which failed" in iteration["reason"]
    assert cli.task("T-1")["state"] == "ready"
