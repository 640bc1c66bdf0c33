"""Sessions of real agents that cannot work, or whose model is not there, as a user types them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents import problems
from tests.agents.problem_lab import (
    AGENTS,
    GONE,
    NO_LOGIN,
    NO_NETWORK,
    NO_SANDBOX,
    NOT_INSTALLED,
    PERMANENT,
    TRANSIENT,
    Lab,
    cells,
    documented,
    permanent,
    transient,
    unsent,
)
from tests.agents.rig import need_namespaces, program
from tests.agents.session_desk import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest.mark import ParameterSet

pytestmark = pytest.mark.timeout(3 * PATIENCE)
INSTALLED = ("Claude Code", "Codex", "OpenCode")
KINDS = {
    NO_LOGIN: "login",
    problems.KEY: "key",
    problems.CREDIT: "credit",
    problems.MODEL: "model",
}
REASONS = {NO_NETWORK: "model unreachable", problems.USED_UP: "usage limit"}
# Those that differ most; all others take as long, and are run where time does not matter.
QUICK = {
    ("Claude Code", NO_LOGIN),
    ("Claude Code", NO_NETWORK),
    ("Codex", NO_LOGIN),
    ("Codex", NOT_INSTALLED),
    ("Codex", GONE),
    ("OpenCode", problems.KEY),
}


def each(of: tuple[str, ...]) -> list[ParameterSet]:
    return [
        pytest.param(name, problem, marks=() if (name, problem) in QUICK else pytest.mark.torture)
        for name in INSTALLED
        for problem in of
    ]


@pytest.fixture
def lab(tmp_path: Path, name: str) -> Iterator[Lab]:
    agent = AGENTS[name]
    made = Lab(tmp_path, agent, program(agent.program))
    yield made
    made.cli.close()


@pytest.mark.examples(1)
@pytest.mark.parametrize(("name", "problem"), each(PERMANENT))
def test_one_turn_is_spent_and_what_repairs_it_is_told(lab: Lab, name: str, problem: str) -> None:
    found, resumed = permanent(lab, problem)
    assert cells(lab, found) == documented(name, problem)
    assert (found.code, found.ended["outcome"], found.problem["kind"]) == (
        *(4, "escalated"),
        KINDS[problem],
    )
    assert (found.turns, found.iterations, found.errors) == (1, 0, 1)
    assert found.problem["message"] in found.printed
    [item] = found.attention
    assert found.problem["help"] in item["message"]
    resume = "hookline run --resume --name s"
    assert item["command"] == f"{found.problem['command']} && {resume}".removeprefix(" && ")
    assert resumed is not None
    assert resumed.code == 0, resumed.stderr
    assert lab.cli.task("T-1")["turnsUsed"] == 1


@pytest.mark.parametrize(("name", "problem"), each(TRANSIENT))
def test_a_model_that_comes_back_is_waited_for(lab: Lab, name: str, problem: str) -> None:
    found = transient(lab, problem)
    assert cells(lab, found) == documented(name, problem)
    assert (found.code, found.ended["outcome"]) == (0, "completed")
    reason = REASONS.get(problem, "model overloaded")
    assert found.waited == reason
    assert "(until 20" in found.shown
    assert f"Z: {reason})" in found.shown
    assert (found.turns, found.iterations, found.errors) == (2, 1, 0)


@pytest.mark.parametrize(("name", "problem"), each((NOT_INSTALLED,)))
def test_a_program_that_is_not_there_is_refused_before_the_start(
    lab: Lab, name: str, problem: str
) -> None:
    found, again = unsent(lab, problem)
    assert cells(lab, found) == documented(name, problem)
    assert (found.code, found.turns, found.iterations, found.errors) == (2, 0, 0, 0)
    assert "which was not found. install it with `npm install -g " in found.printed
    assert again.code == 0, again.stderr


@pytest.mark.parametrize(("name", "problem"), each((GONE,)))
def test_a_program_that_goes_away_ends_the_session_at_once(
    lab: Lab, name: str, problem: str
) -> None:
    found, again = unsent(lab, problem)
    assert cells(lab, found) == documented(name, problem)
    assert (found.code, found.problem["kind"]) == (4, "missing")
    assert (found.turns, found.iterations, found.errors) == (2, 1, 1)
    assert again.code == 0, again.stderr


@pytest.mark.parametrize("name", ["Codex"])
def test_a_sandbox_that_cannot_work_ends_the_session_at_once(lab: Lab, name: str) -> None:
    need_namespaces()
    found, again = unsent(lab, NO_SANDBOX)
    assert cells(lab, found) == documented(name, NO_SANDBOX)
    assert (found.code, found.problem["kind"]) == (4, "sandbox")
    assert (found.turns, found.iterations, found.errors) == (1, 0, 1)
    assert "set `permissions: full`" in found.printed
    assert again.code == 0, again.stderr
