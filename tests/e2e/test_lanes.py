"""Which lane takes which task: any that has an agent for it."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import Pipeline, finish

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

NO_GATES = "hooks: {before_submit: [], before_merge: []}\n"
TYPES = "task_types: {code: {agents: {implementer: [ada]}}, docs: {agents: {implementer: [bob]}}}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def _agents(line: Pipeline, **more: str) -> str:
    command = f"sh {line.box}/agent.sh"
    profiles = {name: {"driver": "command", "command": command} for name in ("ada", "bob")}
    profiles |= {name: {"driver": "command", "command": each} for name, each in more.items()}
    return f"agents: {json.dumps(profiles)}\n"


def _who(line: Pipeline, *tasks: str) -> list[str]:
    """Who did these tasks, by the parts that are merged."""
    said = [line.git("show", f"main:parts/{task}", at=line.main) for task in tasks]
    return [each.removeprefix("by ") for each in said]


@pytest.mark.parametrize("usual", [pytest.param("", marks=pytest.mark.torture), "agent: ada\n"])
def test_one_lane_takes_the_tasks_of_every_agent(line: Pipeline, cli: Cli, usual: str) -> None:
    line.begin(NO_GATES + TYPES + usual, agents=_agents(line))
    code, docs, plain = (
        cli.add("a part", "--type", "code"),
        cli.add("its page", "--type", "docs"),
        cli.add("anything"),
    )
    ended = line.worker()
    assert sorted(ended["merged"]) == [code, docs, plain]
    assert ended["notTaken"] == []
    assert _who(line, code, docs, plain) == ["ada", "bob", "ada"]


@pytest.mark.torture
def test_lanes_share_the_work_and_take_each_others(line: Pipeline, cli: Cli) -> None:
    line.begin(NO_GATES + TYPES, agents=_agents(line))
    plain = [cli.add("anything"), cli.add("something")]
    line.together(2)
    assert sorted(line.worker("--agents", "2")["merged"]) == plain
    assert sorted(_who(line, *plain)) == ["ada", "bob"]
    docs = [cli.add("a page", "--type", "docs"), cli.add("another", "--type", "docs")]
    assert sorted(line.worker("--agents", "2")["merged"]) == docs
    assert _who(line, *docs) == ["bob", "bob"]


def test_only_named_agents_work_and_what_is_left_is_told(line: Pipeline, cli: Cli) -> None:
    line.begin(NO_GATES + TYPES, agents=_agents(line))
    code, docs = cli.add("a part", "--type", "code"), cli.add("a page", "--type", "docs")
    ended = line.worker("--agent", "ada", code=4)
    assert (ended["merged"], ended["notTaken"]) == ([code], [docs])


def test_the_usual_agent_works_without_one_that_is_not_installed(line: Pipeline, cli: Cli) -> None:
    types = "task_types: {docs: {agents: {implementer: [cleo]}}}\nagent: ada\n"
    line.begin(NO_GATES + types, agents=_agents(line, cleo="/nowhere/cleo"))
    plain, docs = cli.add("anything"), cli.add("a page", "--type", "docs")
    done = cli("work", "--once")
    assert (done.code, cli.task(plain)["state"]) == (4, "completed")
    assert "warning: agent 'cleo' needs the program /nowhere/cleo" in done.stderr
    assert f"1 that no agent here can take ({docs})" in done.stdout


def test_who_was_stopped_goes_on(line: Pipeline, cli: Cli) -> None:
    """A session that was stopped is not begun anew by another agent of the same lane."""
    line.begin(NO_GATES, agents=_agents(line))
    task = cli.add("a part")
    first = "touch $here/began; until [ -e $here/go ]; do sleep 0.02; done; exit"
    line.turn(f'if [ "$n" = 1 ]; then {first}; else work; fi')
    process = cli.start("work", "--agent", "bob", "--json")
    eventually((line.box / "began").exists, "the first turn")
    process.send_signal(signal.SIGINT)
    eventually(lambda: bool(cli.events("run_signalled")), "the wish to stop")
    (line.box / "go").touch()
    assert finish(process, 60).code == 130
    ended = line.worker("--agent", "ada", "--agent", "bob")
    assert ended["merged"] == [task]
    assert _who(line, task) == ["bob"]
