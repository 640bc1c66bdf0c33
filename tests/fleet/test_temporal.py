"""The same three hosts under Temporal: workers that are killed or stopped, a server that restarts.

How soon others take over is printed, and held against its bound in `make fleet`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.machines import missing
from tests.fleet.rig import fleet
from tests.fleet.test_faults import FAULTS, ROUNDS, UNDER_WAY, suffer, tell
from tests.temporal_server import temporal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fleet.rig import Fleet
    from tests.temporal_server import TemporalServer

pytestmark = [pytest.mark.fleet, pytest.mark.skipif(bool(missing()), reason=missing())]

# Within so many seconds others work on what a host held.
BOUNDS = {"killed": 6.0, "frozen": 12.0}


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Fleet]:
    with fleet(tmp_path) as made:
        yield made


@pytest.fixture
def server(line: Fleet, tmp_path: Path) -> Iterator[TemporalServer]:
    """A Temporal server beside the other one, which all hosts use."""
    machine = line.network.server
    inside = ("nsenter", "--target", str(machine.pid), "--net")
    with temporal(tmp_path / "temporal", machine.address, inside) as made:
        line.more = f"scheduler: {{kind: temporal, address: '{made.address}'}}\n"
        line.settle()
        yield made


@pytest.mark.parametrize("name", BOUNDS)
def test_others_take_over_in_time(line: Fleet, server: TemporalServer, name: str) -> None:
    took = suffer(line, [FAULTS[name]] * ROUNDS, UNDER_WAY)
    tell(line, f"{name}, under Temporal", took, BOUNDS[name])


def test_a_server_that_is_restarted_forgets_nothing(line: Fleet, server: TemporalServer) -> None:
    for host in line.hosts:
        host.start()
    with line.writers() as marks:
        for _ in range(ROUNDS):
            line.top_up(UNDER_WAY)
            line.await_merges(1)
            server.stop()
            server.start()
            line.check_now()
    line.await_end()
    line.check_end()
    line.check_unhurt()
    line.check_marks(marks)
