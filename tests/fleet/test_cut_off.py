"""A machine is cut off while several of its connections write: how long all others wait for it."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hookline.adapters.store.postgres.store import PostgresStore
from tests.e2e.conftest import eventually
from tests.fleet.machines import Network, missing
from tests.fleet.rig import ROOT, admit_machines
from tests.postgres_server import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.fleet.machines import Machine, Program
    from tests.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

CONNECTIONS = 6
HOLDERS = (sys.executable, "-m", "tests.fleet.holders")
# So long others wait at most; they are watched until long after all have lost their turns.
BOUND, WATCHED, PAUSE = 4.0, 8.0, 0.05
_OF_HOST = "SELECT count(*) FROM pg_stat_activity WHERE client_addr IS NOT NULL"
WAITING = f"{_OF_HOST} AND wait_event_type = 'Lock'"


class Rig(NamedTuple):
    """A machine whose connections write, the server, and a store of somebody else."""

    server: PostgresServer
    host: Machine
    centre: Machine
    store: PostgresStore

    def hold(self) -> Program:
        """Let all its connections ask for the turn."""
        url = f"postgresql://hookline@{self.centre.address}/postgres?project=p"
        env = {"PYTHONPATH": str(ROOT)}
        silent: dict[str, Any] = {"stderr": subprocess.DEVNULL}
        return self.host.start((*HOLDERS, url, str(CONNECTIONS)), ROOT, env, **silent)

    def await_waiting(self, number: int) -> None:
        """Wait until so many wait for the turn; whoever asks again does not at that moment."""
        eventually(lambda: self.server.run(WAITING) == [(number,)], f"{number} waiting")

    def longest_wait(self) -> float:
        """How long it took at most until somebody else had changed something, from now on."""
        moments = [time.monotonic()]
        while moments[-1] < moments[0] + WATCHED:
            with self.store.write({}) as tx:
                tx.hosts.leave("nobody")
            moments.append(time.monotonic())
            time.sleep(PAUSE)
        return max(after - before for before, after in pairwise(moments))


def cut(rig: Rig) -> None:
    rig.host.cut()


def lose_what_it_sends(rig: Rig) -> None:
    rig.host.lose(rig.centre)


def lose_what_it_is_told(rig: Rig) -> None:
    rig.centre.lose(rig.host)


WAYS = (cut, lose_what_it_sends, lose_what_it_is_told)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with ExitStack() as opened:
        network = opened.enter_context(Network(tmp_path, ["alpha"]))
        centre, (host,) = network.server, network.machines
        listen = f"listen_addresses={centre.address}"
        server = opened.enter_context(running(listen, network_of=centre.pid))
        admit_machines(server)
        store = PostgresStore(server.url("p"))
        opened.callback(store.close)
        yield Rig(server, host, centre, store)


@pytest.mark.parametrize("strike", WAYS)
def test_who_has_the_turn_and_who_waits_for_it(rig: Rig, strike: Callable[[Rig], None]) -> None:
    rig.hold()
    rig.await_waiting(CONNECTIONS - 1)
    strike(rig)
    longest = rig.longest_wait()
    print(f"\n{strike.__name__}: others waited for {longest:.1f} s")
    assert longest <= BOUND


@pytest.mark.parametrize("strike", WAYS)
def test_those_who_are_given_the_turn_when_they_are_gone(
    rig: Rig, strike: Callable[[Rig], None]
) -> None:
    with rig.store.write({}) as tx:
        rig.hold()
        rig.await_waiting(CONNECTIONS)
        tx.hosts.leave("nobody")
        strike(rig)
    longest = rig.longest_wait()
    print(f"\n{strike.__name__}: others waited for {longest:.1f} s")
    assert longest <= BOUND


def test_a_program_that_is_frozen(rig: Rig) -> None:
    """Its machine still answers on the network."""
    program = rig.hold()
    rig.await_waiting(CONNECTIONS - 1)
    program.freeze()
    longest = rig.longest_wait()
    print(f"\nfrozen: others waited for {longest:.1f} s")
    assert longest <= BOUND
