"""The page while its store answers nothing, or while nobody trusts its configuration."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx2
import pytest

from hookline.surfaces.web import stream
from tests.e2e.conftest import PATIENCE, eventually
from tests.e2e.page_rig import Page
from tests.e2e.session_rig import PROMISE, Rig
from tests.postgres_server import PostgresServer, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.conftest import Cli


@pytest.fixture
def own(cli: Cli) -> Iterator[PostgresServer]:
    """A server that a test may stop, with the project on it."""
    with running() as server:
        cli.env["HOOKLINE_STORE"] = server.url("p")
        yield server


def refuses(page: Page) -> bool:
    """Whether nobody can connect to it any more."""
    with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", page.port)):
        return False
    return True


def test_a_store_that_answers_nothing_holds_up_no_other_request(
    cli: Cli, own: PostgresServer
) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure()
    assert rig.run().code == 0
    page, other = (Page(cli.start("serve", "--port", "0", "--json")) for _ in range(2))
    feed = "/api/sessions/R-1/feed"
    page.stream(path=feed).until("beat")
    own.pause()
    try:
        for path in (feed, "/api/stream", "/api/tasks"):
            bearer = {"Authorization": f"Bearer {page.token}"}
            with suppress(httpx2.TimeoutException):
                page.http.get(path, headers=bearer, timeout=0.5)
            assert page.http.get("/healthz").text == "ok\n"
        waiting = other.stream(path="/api/stream")
        with suppress(httpx2.TimeoutException):
            other.http.get("/api/tasks", headers=bearer, timeout=0.5)
        page.process.send_signal(signal.SIGTERM)
        other.process.send_signal(signal.SIGINT)
        eventually(lambda: refuses(other), "the end of listening")
        other.process.send_signal(signal.SIGINT)  # who is told twice does not wait
        for each in (page, other):
            _, said = each.process.communicate(timeout=PATIENCE)
            assert "Traceback" not in said, said
        waiting.join()
    finally:
        own.pause(signal.SIGCONT)
        page.http.close()
        other.http.close()


def test_the_stream_goes_on_after_a_configuration_that_is_not_trusted(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent can edit the file at any time; who watches hears again once it is put right."""
    monkeypatch.setattr(stream, "HEARTBEAT", 0.01)
    cli.configure("")
    cli.add("first")
    config = cli.root / "hookline.yaml"
    good = config.read_text()

    async def watch() -> None:
        events = stream.EventStream(str(cli.root), cli.env)
        following = asyncio.create_task(events.follow())

        async def until(reached: Callable[[], bool]) -> None:
            while not reached():
                assert not following.done(), following.exception()
                await asyncio.sleep(0.01)

        await until(lambda: events._app is not None and events._last > 0)
        config.write_text(f"{good}\nstore: 'postgresql://ada@db.invalid/other'\n")
        await until(lambda: events._app is None)
        config.write_text(good)
        await asyncio.to_thread(cli.add, "second")
        last = cli.json("events", "--all")[-1]["seq"]
        await until(lambda: events._last == last)
        events.close()
        await following

    asyncio.run(asyncio.wait_for(watch(), PATIENCE))
