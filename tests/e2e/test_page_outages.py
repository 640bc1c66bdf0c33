"""The page while the server of its store is away, or answers nothing."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PATIENCE
from tests.e2e.page_rig import served
from tests.e2e.session_rig import PROMISE, Rig
from tests.postgres_server import PostgresServer, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli


@pytest.fixture
def own(cli: Cli) -> Iterator[PostgresServer]:
    """A server that a test may stop, with the project on it."""
    with running("synchronous_commit=on") as server:
        cli.env["HOOKLINE_STORE"] = f"{server.url('p')}&wait=1"
        cli.add("first")
        yield server


def test_a_store_that_answers_nothing_holds_up_no_other_request(
    cli: Cli, own: PostgresServer
) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure()
    assert rig.run().code == 0
    feed = "/api/sessions/R-1/feed"
    with served(cli) as page:
        page.stream(path=feed).until("beat")
        own.pause()
        try:
            page.stream(path=feed)
            for _ in range(5):
                assert page.http.get("/healthz").text == "ok\n"
                time.sleep(0.2)
            page.process.send_signal(signal.SIGTERM)
            page.process.wait(PATIENCE)
        finally:
            own.pause(signal.SIGCONT)
