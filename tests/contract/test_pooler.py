"""The contract of stores through a pooler in transaction mode, which gives away connections."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.feeds.listening import Listener, ServerWaker
from hookline.adapters.store.postgres.blobs import ServerBlobs
from hookline.adapters.store.postgres.inspection import inspected_server
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.tasks import verbs
from hookline.testing.contracts import StoreContract
from hookline.testing.contracts.stores.place import Place
from tests.contract.test_stores import on_postgres
from tests.postgres_server import has_pooler, new_project, pooled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.skipif(has_pooler() is None, reason="pgbouncer is not installed")
# More than the pooler has connections.
WRITERS = 12


@pytest.fixture(scope="module")
def pooler(postgres: PostgresServer) -> Iterator[PostgresServer]:
    with pooled(postgres) as found:
        yield found


class TestThroughPgbouncer(StoreContract):
    @pytest.fixture
    def place(self, pooler: PostgresServer, tmp_path: Path) -> Iterator[Place]:
        made = Place(on_postgres(pooler), tmp_path)
        yield made
        made.close()


def test_more_writers_than_connections(pooler: PostgresServer) -> None:
    url = new_project(pooler)
    PostgresStore(url).close()

    def write() -> None:
        with closing(PostgresStore(url)) as store:
            for number in range(5):
                with store.write({}) as tx:
                    verbs.add(tx, f"task {number}")

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with closing(PostgresStore(url)) as store, store.read() as view:
        assert len(view.graph.tasks()) == WRITERS * 5
        assert view.log.gaps() == 0


def test_large_values_in_parts(pooler: PostgresServer) -> None:
    with ExitStack() as opened:
        store = opened.enter_context(closing(PostgresStore(new_project(pooler))))
        blobs = opened.enter_context(closing(ServerBlobs(store.connect(), store.project)))
        large = os.urandom(5 << 19)
        assert blobs.get(blobs.put(large)) == large


def test_whoever_waits_looks_by_themselves(pooler: PostgresServer) -> None:
    with closing(PostgresStore(new_project(pooler))) as store:
        listener = Listener(store.address.server, store.project)
        with closing(listener), ServerWaker(listener) as waker:
            for _ in range(3):  # nobody tells anything, and yet they are woken
                assert waker.wait(100)


def test_a_direct_connection_is_woken_at_once(
    pooler: PostgresServer, postgres: PostgresServer
) -> None:
    with closing(PostgresStore(new_project(pooler))) as store:
        listener = Listener(postgres.url(), store.project)
        with closing(listener), ServerWaker(listener) as waker:
            while waker.wait(0.3):
                pass
            with store.write({}) as tx:
                verbs.add(tx, "news")
            assert waker.wait(100)


def test_the_doctor_says_that_nobody_is_told(
    pooler: PostgresServer, postgres: PostgresServer
) -> None:
    url = new_project(pooler)
    PostgresStore(url).close()
    with inspected_server(url) as found:
        assert not found.is_told(None)
        assert found.is_told(postgres.url())
