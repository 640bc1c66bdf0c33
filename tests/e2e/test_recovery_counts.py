"""A recovery continues the task: what it ends with counts, and the next iteration knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.session_rig import PROMISE, Rig, hook, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

LOOK = {"on_error": [hook("echo LOOK")]}
BLOCKED = "echo 'No key. <promise>BLOCKED</promise>'"


def test_a_promise_in_a_recovery_ends_the_session(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", PROMISE)
    rig.configure({**LOOK, "post_iteration": [{"command": rig.note("post {{iteration}}")}]})
    ended = rig.run(iterations=5)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 1
    assert rig.trace == ["post 1"]
    (iteration,) = rig.data("session_iteration_ended")
    assert (iteration["status"], iteration["error"]) == ("ok", "the agent exited 3")
    assert iteration["decision"] == "complete"


def test_a_recovery_that_is_blocked_asks_for_a_person(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", BLOCKED)
    rig.configure(LOOK)
    assert rig.run(iterations=5).said[:2] == (4, "escalated")


def test_a_recovery_is_validated_and_judged_by_stop_hooks(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", "echo I wrote half of it.", f"touch good; {PROMISE}")
    rule = {"name": "good", "type": "command", "command": "test -e good"}
    rig.configure({**LOOK, "stop": ["evidence"]}, validation=[rule])
    rig.repository()
    assert rig.run(iterations=5).said[:2] == (0, "completed")
    _, _, second = rig.prompts()
    assert in_order(
        second.text,
        "# Next",
        "it failed at first (the agent exited 3); then",
        "I wrote half of it.",
    )
    went_on, done = rig.data("session_iteration_ended")
    assert (went_on["passed"], went_on["rules"], done["passed"]) == (0, 1, 1)


def test_what_a_failed_turn_was_told_is_told_once_more_and_no_third_time(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", "echo recovered", "exit 4", "exit 5")
    rig.configure({**LOOK, "session_start": [hook("echo STARTED")]})
    rig.run(iterations=3)
    first, recovery, second, again, third = (each.text for each in rig.prompts())
    assert "STARTED" in first
    assert in_order(recovery, "# Goal", "LOOK", "STARTED", "Your last turn broke off")
    assert "STARTED" not in second
    assert "LOOK" not in second
    assert "LOOK" in again
    assert "LOOK" in third  # that recovery failed too


@pytest.mark.parametrize(
    ("answer", "said", "turns"), [(BLOCKED, (4, "escalated"), 3), (PROMISE, (0, "completed"), 4)]
)
def test_the_recovery_of_a_delivery_counts_and_what_was_lost_is_delivered_again(
    cli: Cli, answer: str, said: tuple[int, str], turns: int
) -> None:
    rig = Rig(cli)
    late = {**hook("echo LATE"), "deliver": "now"}
    rig.configure({**LOOK, "post_iteration": [late]})
    rig.turns(PROMISE, "exit 3", answer)
    assert rig.run(iterations=1).said[:2] == said
    told = [each.text for each in rig.prompts()]
    assert len(told) == turns
    assert "LATE" in told[1]
    assert ("LATE" in told[-1]) == (turns == 4)
