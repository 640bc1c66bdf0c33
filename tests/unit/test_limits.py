"""When a session has to end, as tables: iterations in, the reason out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.sessions.limits import (
    KEPT_TREES,
    Countdown,
    Progress,
    Reached,
    SessionLimits,
    after_iteration,
    countdown,
    reached,
    used_up,
)

HEALTHY: dict[str, Any] = {
    "failed": False,
    "output": "done.",
    "fingerprint": None,
    "changed": True,
    "passed": None,
    "total": None,
    "minutes": 0.0,
    "usd": 0.0,
    "tokens": 0,
}


def after(*iterations: dict[str, Any], start: Progress | None = None) -> Progress:
    progress = start or Progress()
    for each in iterations:
        progress = after_iteration(progress, **{**HEALTHY, **each})
    return progress


def reason(limits: SessionLimits, *iterations: dict[str, Any]) -> str | None:
    found = reached(limits, after(*iterations))
    return found.reason if found else None


def ends_at(limits: SessionLimits, iterations: list[dict[str, Any]]) -> int | None:
    """The number of the iteration after which the session ends."""
    for count in range(1, len(iterations) + 1):
        if reason(limits, *iterations[:count]):
            return count
    return None


FAILED = {"failed": True}
IDLE = {"changed": False}
CUT = {**FAILED, **IDLE, "cut": True}


@pytest.mark.parametrize(
    ("limits", "iterations", "expected"),
    [
        # A failed iteration is an iteration.
        (SessionLimits(iterations=3), [{}, {}, {}], 3),
        (SessionLimits(iterations=3), [FAILED, {}, FAILED], 3),
        # Budgets add up.
        (SessionLimits(minutes=5), [{"minutes": 2}, {"minutes": 2}, {"minutes": 2}], 3),
        (SessionLimits(usd=1), [{"usd": 0.5}, {"usd": 0.5}], 2),
        (SessionLimits(tokens=100), [{"tokens": 60}, {"tokens": 39}], None),
        (SessionLimits(tokens=100), [{"tokens": 60}, {"tokens": 40}], 2),
        # The same words are no sign of trouble while the files change.
        (SessionLimits(identical_output=2), [{}, {}, {}, {}], None),
        (SessionLimits(identical_output=2), [IDLE, IDLE], 2),
        (SessionLimits(identical_output=3), [IDLE, IDLE, {}, IDLE, IDLE], None),
        (
            SessionLimits(identical_output=2),
            [{**IDLE, "output": "a"}, {**IDLE, "output": "b"}],
            None,
        ),
        (
            SessionLimits(identical_output=1),
            [{**IDLE, "output": "a"}, {**IDLE, "output": "b"}],
            None,
        ),
        # Words of a failed turn neither repeat nor break a repetition.
        (
            SessionLimits(identical_output=3),
            [IDLE, {**IDLE, **FAILED, "output": ""}, IDLE, IDLE],
            4,
        ),
        # No change in files, in a row.
        (SessionLimits(no_change=3), [IDLE, IDLE, IDLE], 3),
        (SessionLimits(no_change=3), [IDLE, IDLE, {}, IDLE, IDLE], None),
        (SessionLimits(no_change=2), [{**IDLE, **FAILED}, IDLE], 2),
        # Failures, in a row.
        (SessionLimits(failures=2), [FAILED, {}, FAILED, FAILED], 4),
        (SessionLimits(failures=2), [FAILED, {}, FAILED, {}], None),
        # What was cut short says nothing about the agent, unless it happens again and again.
        (SessionLimits(failures=1, no_change=1), [CUT] * 10, None),
        (SessionLimits(failures=1), [CUT] * 12, 11),
        (SessionLimits(no_change=1), [CUT] * 12, 11),
        (SessionLimits(failures=1), [*[CUT] * 10, {}, *[CUT] * 10], None),
        (SessionLimits(failures=2), [FAILED, CUT, CUT, FAILED], 4),
        (SessionLimits(iterations=3), [CUT, CUT, CUT], 3),
    ],
)
def test_limit_ends_the_session(
    limits: SessionLimits, iterations: list[dict[str, Any]], expected: int | None
) -> None:
    assert ends_at(limits, iterations) == expected


@pytest.mark.parametrize(
    ("trees", "returns"),
    [
        ("A B C D", 0),
        ("A A A A", 0),
        ("A B A", 1),
        ("A B A B", 2),
        ("A B A B A B", 4),
        ("A B B A", 1),
        ("A B A C", 0),
        ("A B A C A", 1),
        ("A B - A", 1),
    ],
)
def test_going_back_to_an_earlier_state_is_thrashing(trees: str, returns: int) -> None:
    prints = [None if tree == "-" else tree for tree in trees.split()]
    progress = after(*({"fingerprint": each} for each in prints))
    assert progress.returns == returns
    assert (reached(SessionLimits(thrashing=2), progress) is not None) == (returns >= 2)


def test_going_back_to_where_the_session_began_counts() -> None:
    begun = Progress(trees=["start"])
    progress = after({"fingerprint": "A"}, {"fingerprint": "start"}, start=begun)
    assert progress.returns == 1


def test_only_the_last_states_are_kept() -> None:
    progress = after(*({"fingerprint": str(number)} for number in range(100)))
    assert progress.trees == [str(number) for number in range(100 - KEPT_TREES, 100)]


@pytest.mark.parametrize(
    ("results", "worse"),
    [
        ([(1, 3), (2, 3), (3, 3)], 0),
        ([(3, 3), (2, 3)], 1),
        ([(3, 3), (2, 3), (1, 3)], 2),
        ([(3, 3), (2, 3), (3, 3)], 0),
        ([(2, 3), (2, 3), (2, 3)], 0),
        # Without results nothing is known, so nothing is counted.
        ([(3, 3), (2, 3), (None, None)], 1),
        ([(3, 3), (2, 3), (0, 0)], 1),
        # Rules that are gone did not get worse.
        ([(3, 3), (2, 2)], 0),
    ],
)
def test_fewer_rules_than_at_best_is_a_regression(
    results: list[tuple[int | None, int | None]], worse: int
) -> None:
    progress = after(*({"passed": passed, "total": total} for passed, total in results))
    assert progress.worse == worse
    assert (reached(SessionLimits(quality_regression=1), progress) is not None) == (worse >= 1)


def test_budgets_are_named_first_and_iterations_before_all() -> None:
    everything = SessionLimits(
        iterations=2,
        minutes=1,
        usd=1,
        tokens=1,
        identical_output=2,
        no_change=2,
        failures=2,
        thrashing=1,
        quality_regression=1,
    )
    progress = Progress(
        iterations=2,
        minutes=1,
        usd=1,
        tokens=1,
        same_output=2,
        no_change=2,
        failures=2,
        returns=1,
        worse=1,
    )
    named = []
    while found := reached(everything, progress):
        named.append(found.reason)
        everything = msgspec.structs.replace(everything, **{found.reason: 0})
    assert named == [
        "iterations",
        "minutes",
        "usd",
        "tokens",
        "identical_output",
        "no_change",
        "failures",
        "thrashing",
        "quality_regression",
    ]


@pytest.mark.parametrize(
    ("limits", "used", "expected"),
    [
        (SessionLimits(usd=5), Progress(usd=5.129), "$5.13 of $5.00 spent"),
        (SessionLimits(usd=0.002), Progress(usd=0.0031), "$0.0031 of $0.002 spent"),
        (SessionLimits(minutes=1.25), Progress(minutes=1.3), "1.3 of 1.25 minutes used"),
        (
            SessionLimits(minutes=0.005),
            Progress(minutes=0.0061),
            "0.0061 of 0.005 minutes used",
        ),
        (SessionLimits(tokens=9), Progress(tokens=12), "12 of 9 tokens used"),
        (SessionLimits(iterations=1), Progress(iterations=1), "1 of 1 iterations used"),
        (SessionLimits(iterations=1), Progress(iterations=2), "2 of 1 iterations used"),
        (SessionLimits(failures=1), Progress(failures=1), "the last iteration failed"),
        (
            SessionLimits(no_change=15),
            Progress(no_change=15),
            "no file changed in 15 iterations in a row",
        ),
    ],
)
def test_a_reason_comes_with_a_sentence(
    limits: SessionLimits, used: Progress, expected: str
) -> None:
    found = reached(limits, used)
    assert found is not None
    assert found.message == expected


def test_only_budgets_must_be_raised_to_go_on() -> None:
    used = {"iterations": 2, "usd": 1.2}
    assert used_up({"iterations": 5, "usd": 0.5, "no_change": 1}, used) == Reached(
        "usd", "$1.20 of $0.50 spent"
    )
    assert used_up({"iterations": 3, "usd": None, "no_change": 1}, used) is None


def test_without_limits_nothing_ends() -> None:
    used = Progress(iterations=10**6, no_change=10**6, failures=10**6)
    assert reached(SessionLimits(), used) is None
    assert reached(SessionLimits(iterations=0, no_change=0, failures=0), used) is None


def test_countdown_shows_what_has_a_limit() -> None:
    limits = SessionLimits(iterations=20, usd=5.0, tokens=0)
    assert countdown(limits, Progress(iterations=3, usd=0.48, tokens=9)) == [
        Countdown("iterations", 3, 20),
        Countdown("usd", 0.48, 5.0),
    ]


@pytest.mark.parametrize("reported", [float("nan"), float("inf"), -1.0])
def test_figures_that_are_none_do_not_break_the_sum(reported: float) -> None:
    progress = after({"usd": 1.0, "minutes": 1.0}, {"usd": reported, "minutes": reported})
    assert (progress.usd, progress.minutes) == (1.0, 1.0)


def test_progress_lives_in_a_journal() -> None:
    progress = after({"fingerprint": "A", "passed": 1, "total": 2, "output": "\ud800"}, IDLE)
    stored = msgspec.json.encode(progress)
    assert msgspec.json.decode(stored, type=Progress) == progress
    assert b'"bestPassed":1' in stored
    assert b"done." not in stored


steps = st.fixed_dictionaries(
    {},
    optional={
        "failed": st.booleans(),
        "output": st.sampled_from("ab"),
        "fingerprint": st.sampled_from([None, "A", "B", "C"]),
        "changed": st.booleans(),
        "minutes": st.floats(),
        "usd": st.floats(),
        "tokens": st.integers(-5, 5),
    },
)


@given(st.lists(steps, max_size=20), steps)
def test_what_is_used_never_becomes_less(before: list[dict[str, Any]], next_one: Any) -> None:
    earlier = after(*before)
    later = after(next_one, start=earlier)
    assert later.iterations == earlier.iterations + 1
    assert later.minutes >= earlier.minutes
    assert later.usd >= earlier.usd
    assert later.tokens >= earlier.tokens


@given(st.lists(steps, max_size=20), st.integers(1, 8))
def test_a_wider_limit_never_ends_a_session_earlier(
    iterations: list[dict[str, Any]], number: int
) -> None:
    progress = after(*iterations)
    for name in SessionLimits.__struct_fields__:
        if reached(SessionLimits(**{name: number + 1}), progress):
            assert reached(SessionLimits(**{name: number}), progress)
