"""Limits and guards: each ends the session with exit 5 and its own reason; waits do not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.session_rig import Rig, finished

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

COSTS = {"text": "working", "usage": {"inputTokens": 90, "outputTokens": 10, "usd": 0.4}}
DONE = {"text": "<promise>COMPLETE</promise>"}


def limited(rig: Rig, **session: Any) -> None:
    """A configuration with one limit, whose session_end leaves a trace."""
    rig.configure(
        {"session_end": [{"command": rig.note("end {{status}}")}]},
        session={"guards": {"identical_output": 0, "no_change": 0}, **session},
    )


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("reason", "session", "turn", "iterations"),
    [
        ("iterations", {}, "echo working $n", 4),
        ("minutes", {"budget": {"minutes": 0.0001}}, "echo working $n", 1),
        ("identical_output", {"guards": {"identical_output": 2}}, "echo same", 2),
        ("no_change", {"guards": {"no_change": 2}}, "echo working $n", 2),
        ("failures", {"guards": {"failures": 2}}, "exit 3", 2),
        (
            "thrashing",
            {"guards": {"thrashing": 1}},
            "echo $((n % 2)) > file; echo $n",
            3,
        ),
        (
            "thrashing",
            {"guards": {"thrashing": 1}},
            "echo $((n % 2)) > file; git add file;"
            " git -c user.name=A -c user.email=a@example.org commit -qm $n; echo $n",
            3,
        ),
    ],
)
def test_a_limit_ends_the_session_with_its_name(
    cli: Cli, reason: str, session: dict[str, Any], turn: str, iterations: int
) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(rest=turn)
    limited(rig, **session)
    ended = rig.run(iterations=4)
    assert ended.said == (5, "limit", reason)
    assert ended.data["iterations"] == iterations
    assert ended.data["resumable"] is True
    assert rig.trace == ["end limit"]


@pytest.mark.parametrize(
    ("reason", "budget", "iterations"),
    [("usd", {"usd": 0.7}, 2), ("tokens", {"tokens": 250}, 3)],
)
def test_what_the_agent_reports_is_counted(
    cli: Cli, reason: str, budget: dict[str, Any], iterations: int
) -> None:
    rig = Rig(cli)
    agent = rig.scripted({**COSTS, "repeat": True})
    rig.configure({}, agents={"paid": agent}, session={"budget": budget})
    ended = rig.run("--agent", "paid", iterations=9)
    assert ended.said == (5, "limit", reason)
    assert ended.data["iterations"] == iterations
    for less in ("0.1", "0.8") if reason == "usd" else ("100", "300"):
        code, error = cli.refused("run", "--resume", f"--{reason}", less)
        assert (code, "has reached its limit: " in error["message"]) == (2, True)
        assert f"--{reason} {'1.60' if reason == 'usd' else 600}`" in error["help"]
    used = rig.data("session_iteration_ended")
    assert [each["tokens"] for each in used] == [100] * iterations
    assert [each["usd"] for each in used] == [0.4] * iterations


def test_rules_that_pass_no_more_end_the_session(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns("touch good", "rm good", rest="echo $n > other")
    rig.configure(
        {"stop": []},
        validation=[{"name": "good", "type": "file_existence", "files": ["good"]}],
        session={"guards": {"quality_regression": 2}},
    )
    ended = rig.run(iterations=9)
    assert ended.said == (5, "limit", "quality_regression")
    assert ended.data["iterations"] == 3


def test_a_session_that_changes_files_is_not_stuck(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(rest="echo $n > file; echo same")
    rig.configure({}, session={"guards": {"identical_output": 2, "no_change": 2}})
    assert rig.run(iterations=4).said == (5, "limit", "iterations")


def test_commits_count_as_changes(cli: Cli) -> None:
    rig = Rig(cli)
    commit = "git -c user.name=a -c user.email=a@b commit -q -m"
    rig.turns(rest=f"echo $n > file; git add file; {commit} $n; echo same")
    rig.configure({}, session={"guards": {"identical_output": 2, "no_change": 2}})
    rig.repository()
    assert rig.run(iterations=4).said == (5, "limit", "iterations")
    assert [each["filesModified"] for each in rig.data("session_iteration_ended")] == [["file"]] * 4


def test_a_limit_can_be_raised_when_the_session_is_resumed(cli: Cli) -> None:
    rig = Rig(cli)
    limited(rig)
    assert rig.run(iterations=1).data["iterations"] == 1
    ended = rig.resume("--iterations", "3")
    assert ended.said == (5, "limit", "iterations")
    assert ended.data["iterations"] == 3
    assert rig.trace == ["end limit", "end limit"]


# A model that takes no more


@pytest.mark.parametrize("kind", ["usage_limit", "overloaded"])
def test_a_model_that_takes_no_more_is_waited_for_and_is_no_failure(cli: Cli, kind: str) -> None:
    rig = Rig(cli)
    agent = rig.scripted({"error": "not now", "wait": {"kind": kind}}, DONE)
    rig.configure(
        {
            "on_error": [{"command": rig.note("error")}],
            "session_end": [{"command": rig.note("end {{status}}")}],
        },
        agents={"limited": agent},
        session={"model_wait": 1, "guards": {"failures": 1}},
    )
    ended = rig.run("--agent", "limited")
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 1
    assert rig.trace == ["end completed"]
    (wait,) = rig.data("session_waits")
    assert wait["reason"] == {"usage_limit": "usage limit", "overloaded": "model overloaded"}[kind]


@pytest.mark.torture
def test_a_session_that_waits_for_a_model_goes_on_after_a_kill(cli: Cli) -> None:
    rig = Rig(cli)
    until = time.time() + 4
    wait = {"kind": "usage_limit", "until": until}
    agent = rig.scripted({"error": "not now", "wait": wait}, DONE)
    rig.configure(
        {"session_end": [{"command": rig.note("end {{status}}")}]}, agents={"limited": agent}
    )
    session = rig.start("--agent", "limited")
    eventually(lambda: bool(rig.data("session_waits")), "the wait")
    kill(session)
    assert rig.trace == []
    assert cli.task("T-1")["state"] == "active"
    resumed = finished(cli.start("run", "--resume", "--name", "s", "--json"))
    assert resumed.said[:2] == (0, "completed")
    assert resumed.data["iterations"] == 1
    assert time.time() >= until
    assert rig.trace == ["end completed"]
