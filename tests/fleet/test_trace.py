"""What is read out of a trace: the checks that rely on it can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.trace import Trace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return Trace(tmp_path / "trace")


def write(trace: Trace, *lines: str) -> None:
    """More lines, of which the last one may be cut short."""
    with trace.path.open("a") as file:
        file.write("\n".join(lines))
    trace.read()


BEGUN = ("1 begin alpha 7 T-1 turn-1", "2 tick alpha 7 T-1 -")


def test_a_process_that_goes_on_beside_another_host_is_found(trace: Trace) -> None:
    write(trace, *BEGUN, "3 begin beta 7 T-1 turn-1", "4 tick beta 7 T-1 -", "")
    assert trace.overlaps() == []
    assert trace.begun_elsewhere("alpha", 2) == {"T-1": 3}
    write(trace, "5 tick alpha 7 T-1 -", "")
    ((one, other),) = trace.overlaps()
    assert (one.host, one.last, other.host, other.begin) == ("alpha", 5, "beta", 3)


def test_a_child_that_is_left_behind_is_found(trace: Trace) -> None:
    write(trace, *BEGUN, "2 begin alpha 8 T-1 child", "3 end alpha 7 T-1 -")
    write(trace, "", "4 begin beta 9 T-1 gate", "5 tick alpha 8 T-1 -", "")
    ((one, other),) = trace.overlaps()
    assert (one.what, other.what) == ("child", "gate")


def test_processes_of_one_host_or_of_two_tasks_may_overlap(trace: Trace) -> None:
    write(trace, *BEGUN, "1 begin alpha 8 T-1 gate", "1 begin beta 7 T-2 turn-1")
    write(trace, "", "5 end alpha 8 T-1 -", "5 end beta 7 T-2 -", "")
    assert trace.overlaps() == []
    assert trace.turns_on() == {"T-1": {"alpha"}, "T-2": {"beta"}}
    assert [each.task for each in trace.cut_short()] == ["T-1"]


def test_a_turn_that_is_begun_again_is_counted(trace: Trace) -> None:
    write(trace, *BEGUN, "3 begin beta 7 T-1 turn-1", "4 end beta 7 T-1 -", "")
    write(trace, "5 begin beta 8 T-1 turn-2", "6 be")
    assert trace.repeats() == {"T-1": 1}
    assert (trace.under_way("alpha"), trace.under_way("beta")) == (set(), {"T-1"})
    write(trace, "gin gamma 9 T-1 turn-1", "")
    assert trace.repeats() == {"T-1": 2}
    assert trace.last_on("gamma") == {"T-1"}
