"""Under a worker a task that was planned comes after its parts: it waits, and it says for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.prompt_rig import check_prompt
from tests.e2e.session_rig import HOOKLINE

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

ADD = f'{HOOKLINE} task add --parent "$HOOKLINE_TASK_ID"'
PLAN = f"({ADD} 'write it'; {ADD} 'test it' --depends-on T-2) > /dev/null"
TYPES = "task_types: {part: {hooks: {before_submit: [run_tests]}}}\n"
PLANS = f"session: {{plan: true}}\n{TYPES}"


def _begin(
    cli: Cli, configuration: str = PLANS, *, whole: str = "work", parts: str = "work"
) -> Pipeline:
    """A project in which a task is split into two, T-2 and T-3."""
    line = Pipeline(cli)
    line.begin(configuration, remote=False)
    line.turn(
        f'case "$HOOKLINE_TASK_ID $HOOKLINE_ITERATION" in "T-1 0") {PLAN};; *" 0") ;;'
        f" T-1*) {whole};; *) {parts};; esac\n"
    )
    cli.add("the whole", "--type", "part")
    return line


@pytest.mark.torture
def test_who_plans_knows_the_checks_of_each_part(cli: Cli) -> None:
    rule = "validation: [{name: listed, type: command, command: grep -q T log}]\n"
    line = _begin(cli, PLANS + rule)
    line.worker("--agents", "1")
    plan = line.prompts("T-1")[0]
    assert "must pass these on its own:\n- listed: `grep -q T log`\n- run_tests: " in plan


@pytest.mark.torture
def test_the_parts_are_merged_first_and_one_lane_is_enough(cli: Cli) -> None:
    line = _begin(cli)
    done = line.worker("--agents", "1")
    assert line.merges() == ["T-2", "T-3", "T-1"]
    assert (done["begun"], done["outcome"]) == (3, "done")
    line.check_main()
    line.check_order("T-2")
    # Its worktree holds what the parts brought, although it was made before them.
    assert {"T-2", "T-3", "T-1"} <= line.parts()
    plan, last = line.prompts("T-1")
    check_prompt(cli, "plan-in-a-worktree", plan, ("the whole",))
    check_prompt(cli, "after-the-parts", last, ("the whole", "write it", "test it"))
    assert cli.task("T-1")["dependsOn"] == ["T-2", "T-3"]


@pytest.mark.torture
def test_nothing_is_left_to_commit_where_the_parts_did_it_all(cli: Cli) -> None:
    line = _begin(cli, whole="test -e parts/T-2 && test -e parts/T-3")
    line.worker("--agents", "2")
    assert sorted(line.merges()) == ["T-2", "T-3"]
    assert cli.task("T-1")["state"] == "completed"
    assert cli.json("attention") == []


@pytest.mark.torture
def test_it_waits_for_a_part_that_fails_and_says_so(cli: Cli) -> None:
    line = _begin(cli, parts='[ "$HOOKLINE_TASK_ID" = T-2 ] && work || echo broken >> log')
    told = cli("work", "--once", "--agents", "1")
    assert told.code == 4, told
    assert "T-1   bot planned: it waits for T-2, T-3" in told.stderr
    assert "waiting for these (T-1)" in told.stdout
    assert line.merges() == ["T-2"]
    assert "T-1 is not ready: it waits for T-3" in cli("why", "T-1").stdout
    assert "T-3" in cli("task", "show", "T-1").stdout
    refused = cli("run", "--resume", "--name", "T-1-bot")
    assert (refused.code, "cannot claim T-1: it waits for T-3" in refused.stderr) == (1, True), (
        refused
    )
    assert cli("submit", "T-1").code != 0

    # A person changes the plan: what nobody wants is not waited for, and what is new is.
    cli.json("task", "cancel", "T-3", quiet=False)
    cli.add("one more", "--parent", "T-1", "--type", "part", quiet=False)
    line.turn("work\n")
    line.worker("--agents", "1")
    assert line.merges() == ["T-2", "T-4", "T-1"]
    assert ["# Plan first" in each for each in line.prompts("T-1")] == [True, False]


def test_a_plan_that_is_shown_is_started_by_a_word(cli: Cli) -> None:
    line = _begin(cli, TYPES)
    shown = cli("run", "--task", "T-1", "--plan", "--name", "s")
    assert (shown.code, "planned: 2 tasks" in shown.stdout) == (0, True), shown
    left = line.worker(code=4)
    assert (line.merges(), left["notTaken"]) == ([], ["T-2"])
    assert left["why"] == {"T-2": "the plan of T-1 waits to be started"}
    why = cli("why", "T-2").stdout
    assert "T-2 is ready: the plan of T-1 waits to be started" in why
    assert "Try: hookline run --resume --name s" in why

    started = cli("run", "--resume", "--name", "s")
    assert (started.code, started.stdout.splitlines()[-1]) == (0, "planned: it waits for T-2, T-3")
    assert "hookline work" in started.stderr
    line.worker()
    assert sorted(line.merges()[:2]) == ["T-2", "T-3"]
    assert line.merges()[2:] == ["T-1"]


@pytest.mark.torture
def test_a_task_that_was_sent_back_is_not_planned_again(cli: Cli) -> None:
    line = _begin(cli, whole="echo broken >> log")
    line.worker(code=4)
    assert cli.task("T-1")["state"] == "needs_continuation"
    line.turn("git checkout --quiet main -- log && work\n")
    cli("run", "--task", "T-1", "--yes")
    assert ["# Plan first" in each for each in line.prompts("T-1")].count(True) == 1
