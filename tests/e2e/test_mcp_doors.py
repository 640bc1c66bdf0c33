"""For how long the MCP server over HTTP waits for what a client sends."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from hookline.surfaces.serving import HttpServer, server_config
from tests.e2e.conftest import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


REQUEST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"
# What a client sends and then says no more.
SILENT = {
    "nothing": b"",
    "half a header": REQUEST[:30],
    "half a body": REQUEST + b"a",
    "nothing after an answer": REQUEST + b"ab",
    "half of the next request": REQUEST + b"ab" + REQUEST[:30],
}


def test_a_connection_that_says_nothing_is_dropped() -> None:
    async def main(connect: Connect, release: asyncio.Event) -> None:
        release.set()
        await asyncio.gather(*(drop(connect, name) for name in SILENT))

    async def drop(connect: Connect, name: str) -> None:
        reader, writer = await connect()
        writer.write(SILENT[name])
        answer = await reader.read()  # to the end, which comes only if it is dropped
        assert answer.count(b"200 OK") == (SILENT[name].count(b"ab") > 0), name
        writer.close()

    run(main)


def test_one_that_sends_byte_by_byte_is_dropped_and_one_that_waits_is_not() -> None:
    async def main(connect: Connect, release: asyncio.Event) -> None:
        waiting, waits = await connect()
        waits.write(REQUEST + b"ab")
        reader, writer = await connect()
        dropped = asyncio.create_task(reader.read())
        while not dropped.done():
            writer.write(b"G")
            await asyncio.wait([dropped], timeout=0.1)
        assert await dropped == b""
        writer.close()
        # The first has waited for longer than a client may be silent, and gets its answer.
        release.set()
        assert b"200 OK" in await waiting.readuntil(b"\r\n\r\n")
        waits.close()

    run(main)


if TYPE_CHECKING:
    Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


def run(main: Callable[[Connect, asyncio.Event], Awaitable[None]]) -> None:
    """Serve an app that reads a request and answers once it is released; a second is idle."""

    async def serve() -> None:
        release = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                return
            while (await receive()).get("more_body"):
                pass
            await release.wait()
            head = {"type": "http.response.start", "status": 200}
            await send({**head, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})

        with socket.create_server(("127.0.0.1", 0)) as bound:
            server = HttpServer(server_config(app, idle=1))
            serving = asyncio.create_task(server.serve(sockets=[bound]))
            async with asyncio.timeout(PATIENCE):
                await main(lambda: asyncio.open_connection(*bound.getsockname()), release)
            server.should_exit = True
            await serving

    asyncio.run(serve())
