"""Three hosts that work on twenty tasks, one of which dies, hangs, or is cut off, again and again.

How soon others take over is printed, and held against its bound in `make fleet`, where all moments
are of one clock.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e.conftest import eventually
from tests.fleet import clocks
from tests.fleet.machines import missing
from tests.fleet.rig import LEASE, Fleet, Host, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

ROUNDS, SKEWED_ROUNDS = 20, 10
RESTARTS = 10
UNDER_WAY = 20
# Within so many seconds others work on what a host held.
AT_ONCE = 5.0
AFTER_LEASE = LEASE + 5.0


class Fault(NamedTuple):
    """What happens to a host, how it gets well again, and how soon others take over."""

    strike: Callable[[Host], None]
    mend: Callable[[Host], None]
    within: float


FAULTS = {
    "killed": Fault(Host.kill, Host.start, AT_ONCE),
    "frozen": Fault(Host.freeze, Host.thaw, AT_ONCE),
    "cut off": Fault(Host.cut, Host.heal, AFTER_LEASE),
    "switched off": Fault(Host.switch_off, Host.boot, AFTER_LEASE),
}


# What is lost, though the cable is in: everything, what a host sends, and what it is told.
LOSSES = (
    Fault(Host.lose_both, Host.find_both, AFTER_LEASE),
    Fault(Host.fall_silent, Host.be_heard, AFTER_LEASE),
    Fault(Host.go_deaf, Host.hear, AFTER_LEASE),
)


def suffer(line: Fleet, faults: Sequence[Fault], tasks: int) -> list[float]:
    """Fault after fault, each on the next host; how long it took until others had its leases."""
    for host in line.hosts:
        host.start()
    took: list[float] = []
    for number, fault in enumerate(faults):
        host = line.await_work(number, tasks)
        taken, since = line.strike(host, fault.strike)
        found = line.await_takeover(host, taken, since)
        told = ", ".join(f"{seconds:.1f}" for seconds in found)
        print(f"\n{number + 1}. {host.name}: others have its leases after {told} s", end="")
        took += found
        fault.mend(host)
        line.check_now()
    line.await_end()
    line.check_end()
    return took


@pytest.mark.fleet
def test_a_killed_worker_is_followed_by_another_host(line: Fleet) -> None:
    line.seconds = 2
    line.settle()
    suffer(line, [FAULTS["killed"]], 3)


@pytest.mark.fleet
@pytest.mark.parametrize("name", FAULTS)
def test_others_take_over_in_time(line: Fleet, name: str) -> None:
    line.settle()
    tell(line, name, suffer(line, [FAULTS[name]] * ROUNDS, UNDER_WAY), FAULTS[name].within)


@pytest.mark.fleet
def test_a_host_that_is_cut_off_in_one_direction_is_followed_in_time(line: Fleet) -> None:
    line.settle()
    tell(line, "half cut off", suffer(line, LOSSES * 2, UNDER_WAY), AFTER_LEASE)


def tell(line: Fleet, name: str, took: list[float], within: float) -> None:
    """Print how long it took, and hold it against its bound."""
    print(f"\n{name}: {len(took)} takeovers, within {within:g} s:")
    print(f"  another host has the lease after {spread(took)}")
    print(f"  its agent works after {spread(line.until_at_work())}")
    assert max(took) <= within


@pytest.mark.fleet
@pytest.mark.skipif(bool(clocks.missing()), reason=clocks.missing())
def test_nobody_takes_over_a_living_host_whose_clock_is_wrong(line: Fleet) -> None:
    line.settle()
    for host, seconds in zip(line.hosts, (0, 30, -30), strict=True):
        host.skew(seconds)
        host.start()
    eventually(lambda: line.clocks() == {"alpha": 0, "beta": 30, "gamma": -30}, "all clocks")
    for number in range(SKEWED_ROUNDS):
        line.await_work(number, UNDER_WAY)
        line.await_merges(1)
        line.check_now()
    line.await_end()
    line.check_end()
    line.check_unhurt()


@pytest.mark.fleet
def test_a_server_that_is_restarted_forgets_nothing(line: Fleet) -> None:
    line.settle()
    for host in line.hosts:
        host.start()
    with line.writers() as marks:
        for number in range(RESTARTS):
            line.top_up(UNDER_WAY)
            line.await_merges(1)
            line.server.stop(signal.SIGQUIT if number % 2 else signal.SIGINT)
            line.server.start()
            line.check_now()
    line.await_end()
    line.check_end()
    line.check_unhurt()
    line.check_marks(marks)
