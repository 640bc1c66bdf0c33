"""Turns that fail: on_error, the recovery prompt, and what counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import is_running
from tests.e2e.session_rig import PROMISE, Rig, hook, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_a_failed_turn_is_recovered_at_once_and_the_session_goes_on(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f"{rig.note('turn 1')}; echo half > half; exit 3", rest=f"{rig.note('turn $n')}")
    rig.configure(
        {
            "on_error": [
                hook(f"{rig.note('error')}; echo DIFF of {{{{iteration}}}}: {{{{error}}}}"),
                {"command": "echo QUIET"},
            ],
            "post_iteration": [{"command": rig.note("post {{iteration}}")}],
        }
    )
    assert rig.run(iterations=2).said == (5, "limit", "iterations")
    _, recovery, second = rig.prompts()
    assert [each.iteration for each in rig.prompts()] == [1, 1, 2]
    assert in_order(recovery.text, "do it", "DIFF of 1: the agent exited 3", "Your last turn")
    assert "QUIET" not in recovery.text
    assert "DIFF" not in second.text
    assert rig.trace == ["turn 1", "error", "turn 2", "post 1", "turn 3", "post 2"]
    recovered, fine = rig.data("session_iteration_ended")
    assert (recovered["status"], recovered["error"]) == ("ok", "the agent exited 3")
    assert (fine["iteration"], fine["status"], fine["error"]) == (2, "ok", None)


def test_without_piped_output_there_is_no_recovery_turn(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", PROMISE)
    rig.configure({"on_error": [{"command": rig.note("error {{iteration}}")}]})
    assert rig.run().said[:2] == (0, "completed")
    assert [each.iteration for each in rig.prompts()] == [1, 2]
    assert rig.trace == ["error 1"]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("kill -9 $$", "the agent exited 137"),
        ("echo why >&2; exit 1", "the agent exited 1: why"),
        ("printf '\\377\\376' >&2; exit 4", "the agent exited 4"),
    ],
)
def test_every_way_to_fail_is_told(cli: Cli, script: str, error: str) -> None:
    rig = Rig(cli)
    rig.turns(script, PROMISE)
    rig.configure({"on_error": [{"command": rig.note('"{{error}}"')}]})
    assert rig.run().code == 0
    (line,) = rig.trace
    assert line.startswith(error)


def test_an_agent_that_is_gone_needs_a_person_and_is_not_asked_again(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "on_error": [{"command": rig.note("error {{iteration}}")}],
            "session_end": [{"command": rig.note("end")}],
        },
        agents={"gone": {"driver": "command", "command": "sh -c no-such-agent"}},
        session={"guards": {"failures": 3}},
    )
    ended = rig.run("--agent", "gone", iterations=9)
    assert (ended.code, ended.data["outcome"], ended.data["iterations"]) == (4, "escalated", 0)
    assert ended.data["problem"]["kind"] == "missing"
    assert rig.trace == ["error 1", "end"]


def test_a_turn_that_takes_too_long_is_ended_with_all_its_children(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("sleep 100 & echo $! > pid; sleep 100", PROMISE)
    rig.configure({"on_error": [{"command": rig.note('"{{error}}"')}]}, session={"turn_timeout": 1})
    assert rig.run().code == 0
    assert "timed out after 1 s" in rig.trace[0]
    pid = int((cli.root / "pid").read_text())
    assert not is_running(pid)


def test_a_failed_recovery_does_not_fire_on_error_again(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", "exit 4", PROMISE)
    rig.configure({"on_error": [hook(f"{rig.note('error')}; echo LOOK")]})
    assert rig.run().code == 0
    assert [each.iteration for each in rig.prompts()] == [1, 1, 2]
    assert rig.trace == ["error"]


def test_failed_iterations_count_until_they_end_the_session(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", "echo fine", rest="exit 3")
    rig.configure(
        {"session_end": [{"command": rig.note("end {{status}}")}]},
        session={"guards": {"failures": 2}},
    )
    ended = rig.run(iterations=9)
    assert ended.said == (5, "limit", "failures")
    assert ended.data["iterations"] == 4
    assert rig.trace == ["end limit"]


def test_failed_iterations_count_against_the_iteration_limit(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="exit 3")
    rig.configure({})
    ended = rig.run(iterations=3)
    assert ended.said == (5, "limit", "iterations")
    assert len(rig.prompts()) == 3


def test_a_promise_of_a_turn_that_failed_counts_for_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f"{PROMISE}; exit 3", "echo working")
    rig.configure({"on_error": [hook("echo LOOK")]})
    assert rig.run(iterations=2).said == (5, "limit", "iterations")


def test_output_that_is_held_at_the_limit_is_delivered_after_a_failed_turn_too(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f"{rig.complete_child('part')}; exit 3")
    rig.configure({"on_task_complete": [hook("echo DONE {{task_content}}")]})
    assert rig.run(iterations=1).said == (5, "limit", "iterations")
    _, last = rig.prompts()
    assert in_order(last.text, "DONE part")
