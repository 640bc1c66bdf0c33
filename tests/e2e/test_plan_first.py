"""A plan is shown before the work on it begins, can be changed, and is started by a word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, ended, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

ADD = f'{HOOKLINE} task add --parent "$HOOKLINE_TASK_ID"'
PLAN = f"({ADD} 'write it'; {ADD} 'test it' --depends-on T-2) > /dev/null; echo Two parts."


def test_a_plan_is_shown_changed_and_started_by_a_word(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({})
    rig.turns(PLAN, PROMISE)
    shown = cli("run", "--plan", "Say hello", "--name", "s", "--agent", "bot")
    assert shown.code == 0
    assert "planned: 2 tasks" in shown.stdout
    for part in ("write it", "test it", "T-3"):
        assert part in shown.stdout
    assert "hookline task add GOAL --parent T-1" in shown.stderr
    assert "resume it with `hookline run --resume --name s`" in shown.stderr
    assert [each.iteration for each in rig.prompts()] == [0]

    (waiting,) = cli.json("session", "list")
    assert (waiting["status"], waiting["reason"]) == ("paused", "its plan waits to be started")
    (item,) = cli("attention", "--json").json
    assert item["command"] == "hookline run --resume --name s"
    cli.json("task", "cancel", "T-3", quiet=False)
    cli.json("task", "update", "T-2", "--goal", "write it well", quiet=False)
    cli.add("read it", "--parent", "T-1", quiet=False)

    done = rig.resume()
    assert done.said[:2] == (0, "completed")
    _, first = (each.text for each in rig.prompts())
    assert "# Tasks (0 of 2 done)\n\n- T-2 (ready): write it well" in first
    assert "- T-4 (ready): read it" in first
    assert "test it" not in first
    assert '0: you planned: no file changed. You said: "Two parts."' in first
    assert cli.task("T-1")["turnsUsed"] == 2
    assert cli.json("attention") == []


def test_a_configured_plan_is_shown_as_well_and_yes_starts_it_at_once(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({}, session={"plan": True})
    rig.turns(PLAN, PROMISE)
    told = cli(*rig.arguments(goal="Say hello", n=2, name="s"))
    last = json.loads(told.stdout.splitlines()[-1])
    assert (told.code, last["type"]) == (0, "session_planned")
    assert [task["goal"] for task in last["data"]["tasks"]] == ["write it", "test it"]
    assert [(edge["fromId"], edge["toId"]) for edge in last["data"]["edges"]] == [("T-3", "T-2")]
    assert last["data"]["next"] == "hookline run --resume --name s"
    assert rig.resume().said[:2] == (0, "completed")

    rig.turns(rest=PROMISE)
    at_once = ended(cli(*rig.arguments("--yes", goal="Say hello again", n=2, name="t")))
    assert at_once.said[:2] == (0, "completed")
    assert cli("run", "--resume", "--yes").code == 2


def test_a_plan_that_was_cut_by_a_failure_is_shown_too(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"on_error": [hook("echo LOOK")]})
    rig.turns("exit 3", PLAN, PROMISE)
    assert "planned: 2 tasks" in cli("run", "--plan", "x", "--name", "s", "--agent", "bot").stdout
    assert rig.resume().said[:2] == (0, "completed")
    assert "it failed at first (the agent exited 3); then" in rig.prompts()[-1].text


def test_a_worker_waits_for_nobody(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("session: {plan: true}\ntask_types: {part: {hooks: {before_submit: []}}}\n")
    line.turn('[ "$HOOKLINE_ITERATION" = 0 ] || work\n')
    task = cli.add("a part", "--type", "part")
    line.worker()
    assert line.merges() == [task]
    plan, _ = line.prompts(task)
    assert "# Plan first" in plan


@pytest.mark.torture
def test_parts_of_a_plan_are_not_planned_again(cli: Cli) -> None:
    line = Pipeline(cli)
    gates = "gates: {test: none}\n"
    line.begin(f"{gates}session: {{plan: true}}\ntask_types: {{part: {{hooks: {{}}}}}}\n")
    plans, works = f"{ADD} 'one more' > /dev/null", 'echo x > "parts/$HOOKLINE_TASK_ID"'
    line.turn(f'if [ "$HOOKLINE_ITERATION" = 0 ]; then {plans}; else {works}; fi\n')
    task = cli.add("a part", "--type", "part")
    line.worker()
    assert line.merges() == ["T-2", task]
    assert ["# Plan first" in each for each in line.prompts(task)] == [True, False]
    assert ["# Plan first" in each for each in line.prompts("T-2")] == [False]


def test_programs_are_told_that_a_plan_waits_without_reading_the_reason(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({})
    rig.turns(PLAN)
    cli("run", "--plan", "Say hello", "--name", "s", "--agent", "bot")
    (waiting,) = cli.json("session", "list")
    assert waiting["planned"] is True
    cli.json("flow", "cancel", "R-1", quiet=False)
    (over,) = cli.json("session", "list")
    assert (over["status"], "planned" in over) == ("cancelled", False)
