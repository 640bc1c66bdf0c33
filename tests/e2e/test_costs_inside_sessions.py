"""Turns that something inside a session starts: counted for it, and bounded by its budget."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

ANSWER = '{"actions": []}'
ADVICE = {"look": [{"name": "advice", "agent": "helper", "prompt": "Look."}]}
ASK = {"ask": {"steps": [{"id": "a", "agent": {"prompt": "Think.", "agent": "helper"}}]}}
# Until what was spent is on record, a budget cannot know of it.
PAID = f"until {HOOKLINE} task show $HOOKLINE_TASK_ID | grep -q '[$]{{}}'; do sleep 0.05; done"


@pytest.fixture
def rig(cli: Cli) -> Rig:
    found = Rig(cli)
    found.repository()
    return found


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def _configure(rig: Rig, usd: float, **sections: Any) -> None:
    """An agent that hooks and flows ask; it leaves a line in the trace for each of its turns."""
    turn = {"text": ANSWER, "run": rig.note("paid"), "usage": {"usd": usd}, "repeat": True}
    helper = rig.scripted(turn)
    agents = {"bot": rig.free_bot, "helper": helper}
    rig.configure(ADVICE, agents=agents, events=["look"], flows=ASK, **sections)


@pytest.mark.torture
def test_what_an_agent_starts_is_counted_for_its_session_and_its_task(rig: Rig, cli: Cli) -> None:
    _configure(rig, 0.25, session={"budget": {"usd": 3}})
    other = cli.add("another")
    rig.turns(
        f"{HOOKLINE} emit look > /dev/null; {PAID.format('0.25')}; "
        f"{HOOKLINE} emit look --task {other} > /dev/null; {PAID.format('0.50')}; "
        f"{HOOKLINE} flow start ask > /dev/null; touch done; {PROMISE}"
    )
    assert rig.run().said[:2] == (0, "completed")
    assert rig.trace == ["paid"] * 3
    (used,) = rig.data("session_iteration_ended")
    assert used["usd"] == 0.75
    turns = {each["data"]["turn"]: each for each in cli.events("agent_turn")}.values()
    task = cli.events("session_started")[0]["data"]["taskId"]
    assert task != other
    assert {each["nodeId"] for each in turns} == {task}
    assert cli.task(task)["cost"]["usd"] == 0.75


def test_nothing_that_costs_is_started_below_a_session_without_budget(rig: Rig, cli: Cli) -> None:
    _configure(rig, 5.0, session={"budget": {"usd": 1}})
    rig.turns(
        f"{HOOKLINE} emit look > /dev/null; {PAID.format('5')}; {HOOKLINE} emit look > /dev/null; "
        f"{HOOKLINE} flow start ask > {rig.file('flow')} 2>&1; "
        f"{HOOKLINE} hook test advice > {rig.file('tried')} 2>&1; echo more"
    )
    assert rig.run().said == (5, "limit", "usd")
    cli("work", "--flows", "--once")
    assert rig.trace == ["paid"]
    assert [each["data"]["error"] for each in cli.events("hook_error")] == [
        "agent helper: the budget of session 's' is used up: $5.00 of $1.00 spent"
    ]
    assert "the budget of session 's' is used up" in rig.file("flow").read_text()
    assert "only a person can try a hook that asks an agent" in rig.file("tried").read_text()
    assert cli("hook", "test", "advice").code == 0  # by a person
    assert rig.trace == ["paid", "paid"]


def test_a_turn_that_was_cut_short_is_not_recovered_without_budget(rig: Rig) -> None:
    turn = {"text": "x", "error": "lost", "usage": {"usd": 2.0}, "run": rig.note("paid")}
    rig.configure(
        {"on_error": [{"name": "hint", "command": "echo try again", "pipe_output": True}]},
        agents={"it": rig.scripted({**turn, "repeat": True})},
        session={"budget": {"usd": 3}},
    )
    assert rig.run("--agent", "it", iterations=9).said == (5, "limit", "usd")
    # The first turn and its recovery; then nothing is left for another one.
    assert rig.trace == ["paid", "paid"]
    assert rig.run("--agent", "it", "--usd", "1.5", iterations=9, name="t").said[2] == "usd"
    assert rig.trace == ["paid"] * 3


def test_the_money_of_a_worker_counts_what_its_sessions_start(line: Pipeline, cli: Cli) -> None:
    turn = {"text": ANSWER, "run": f"echo paid >> {line.box}/paid", "usage": {"usd": 5.0}}
    cli.put("helper.json", json.dumps([{**turn, "repeat": True}]))
    helper = "{driver: scripted, script: helper.json}"
    free = line.profile.replace("}", ", prices: {input: 0, output: 0}}")
    hooks = json.dumps({**ADVICE, "before_submit": []})
    line.begin(
        f"events: [look]\nhooks: {hooks}\n",
        agents=f"agents: {{bot: {free}, helper: {helper}}}\nagent: bot\n",
        remote=False,
    )
    emit = f"{HOOKLINE} emit look > /dev/null\n"
    line.turn(f"{emit}{PAID.format('5')}\n{emit}touch own\n")
    first, second = cli.add("first"), cli.add("second")
    ended = line.worker("--usd", "1", code=5)
    assert (ended["limit"], ended["usd"], ended["begun"]) == ("usd", 5.0, 1)
    assert (line.box / "paid").read_text().split() == ["paid"]
    assert (cli.task(first)["cost"]["usd"], cli.task(second)["state"]) == (5.0, "ready")
    (error,) = (each["data"]["error"] for each in cli.events("hook_error"))
    assert error == "agent helper: the budget of $1.00 (`hookline work --usd`) is spent"
