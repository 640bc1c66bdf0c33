"""The server of the page: its files, its API, its stream, and the tools of agents if wanted."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount
from starlette.routing import Route as Address

from hookline.cancelling import end
from hookline.project import find_project
from hookline.queries.telemetry.figures import KeptFigures
from hookline.surfaces.courier import Courier
from hookline.surfaces.serving import (
    LOOPBACK,
    ROLE,
    Addresses,
    Guarded,
    HttpServer,
    is_loopback,
    server_config,
)
from hookline.surfaces.web import api, description
from hookline.surfaces.web.feed import SessionFeeds
from hookline.surfaces.web.files import page_files
from hookline.surfaces.web.stream import EventStream
from hookline.surfaces.web.streams import stream_addresses
from hookline.trust.page_tokens import AGENT
from hookline.wiring.running.peers import is_agents

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from hookline.surfaces.web.files import PageFile

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
CACHED = b"cache-control"
HEALTH, TOOLS = "/healthz", "/mcp"
STARTS_IN = 30.0


class Served(NamedTuple):
    """What is served, where, and to which roles.

    `url` is how browsers see the server. `tools` makes the endpoint of agents' tools, and is
    closed at the end.
    """

    root: str
    environ: Mapping[str, str]
    roles: Mapping[str, str]
    bound: socket.socket
    url: str
    note: Callable[[str], None]
    tools: Callable[[], Tools] | None = None
    tls: tuple[str, str] | None = None


class Tools(NamedTuple):
    """The endpoint of agents' tools."""

    app: Any
    close: Callable[[], Any]


def known_addresses(url: str, host: str, port: int) -> Addresses:
    """How this server may be named: by its URL, and on this machine by the names of that."""
    scheme, _, named = url.partition("://")
    names = {named}
    if is_loopback(host) and named.rpartition(":")[0] in LOOPBACK:
        names |= {f"{name}:{port}" for name in LOOPBACK}
    usual = {"http": ":80", "https": ":443"}[scheme]
    names |= {name.removesuffix(usual) for name in names if name.endswith(usual)}
    hosts = "|".join(map(re.escape, sorted(name.lower() for name in names)))
    return Addresses(re.compile(hosts), re.compile(f"{scheme}://(?:{hosts})"))


class PageServer:
    """One server: it is run until it is told to stop."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._folder = find_project(served.root, served.environ).folder
        self._stream = EventStream(served.root, served.environ)
        self._feeds = SessionFeeds(served.root, served.environ)
        config = server_config(self._application(), **_tls(served.tls))
        self._server = HttpServer(config)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self) -> None:
        """Serve until a signal, or `stop`."""
        self._loop = asyncio.get_running_loop()
        following = asyncio.create_task(self._stream.follow())
        following.add_done_callback(lambda over: self.stop())  # a page that hears nothing misleads
        watching = asyncio.create_task(self._end_streams())
        try:
            await self._server.serve(sockets=[self._served.bound])
        finally:
            self._end_now()
            await end(following, watching)
            self._feeds.close()
        if not following.cancelled():
            following.result()

    def stop(self) -> None:
        """End it, from any thread."""
        self._server.should_exit = True

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Serve in a thread, while this one does something else."""
        problems: list[BaseException] = []

        def run() -> None:
            try:
                asyncio.run(self.serve())
            except BaseException as problem:  # noqa: BLE001  # it is raised where it is waited for
                problems.append(problem)

        thread = threading.Thread(target=run, name="page", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.stop()
            thread.join(STARTS_IN)
        for problem in problems:
            raise problem

    async def _end_streams(self) -> None:
        """Streams end before connections are waited for."""
        while not self._server.should_exit:
            await asyncio.sleep(0.1)
        self._end_now()

    def _end_now(self) -> None:
        if not self._stream.is_over:
            self._stream.close()
            self._feeds.end()

    def _application(self) -> ASGIApp:
        served = self._served
        courier = Courier(served.note)
        place = api.ServedProject(
            served.root, served.environ, courier, self._is_agents, KeptFigures()
        )
        files = page_files()
        routes: list[Any] = [
            Address(HEALTH, _healthy, methods=["GET"]),
            Address("/api/openapi.json", _described, methods=["GET"]),
            *stream_addresses(place, self._stream, self._feeds),
            *api.addresses(place),
            *(Address(path, _file(each), methods=["GET"]) for path, each in files.items()),
        ]
        tools = served.tools() if served.tools is not None else None
        if tools is not None:
            routes.append(Mount("/", app=tools.app))

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with AsyncExitStack() as stack:
                if tools is not None:
                    stack.push_async_callback(tools.close)
                    await stack.enter_async_context(tools.app.router.lifespan_context(tools.app))
                stack.push_async_callback(courier.close)
                yield

        application = Starlette(
            routes=routes,
            lifespan=lifespan,
            exception_handlers={404: _missing, 405: _wrong_method},
        )
        host, port = served.bound.getsockname()[:2]
        known = known_addresses(served.url, host, port)

        def is_open(scope: Scope) -> bool:
            return scope["path"] == HEALTH or scope["path"] in files

        return WithHeaders(
            Guarded(OnlyTools(application), served.roles, known, is_open, api.refused_with)
        )

    def _is_agents(self, request: Request) -> bool:
        client, server = request.scope["client"], request.scope["server"]
        if client is None or server is None:
            return False
        return is_agents(self._folder, tuple(client), tuple(server))


class OnlyTools:
    """Keeps agents to their tools, and others away from them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        role = scope.get(ROLE)
        is_tools = scope.get("path", "").rstrip("/") == TOOLS
        if role is not None and (role == AGENT) != is_tools:
            answer = api.refused_with(403, "people-only", api.TOOLS if role == AGENT else _AGENTS)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)


_AGENTS = "the tools are for agents, with the agents' token"


class WithHeaders:
    """Adds what browsers need to know to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with our headers."""

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in HEADERS}
                kept = [each for each in message.get("headers", ()) if each[0].lower() not in own]
                is_kept = any(name.lower() == CACHED for name, _ in kept)
                cached = () if is_kept else ((CACHED, b"no-store"),)
                message = {**message, "headers": [*kept, *HEADERS, *cached]}
            await send(message)

        await self._app(scope, receive, say if scope["type"] == "http" else send)


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _described(request: Request) -> Response:
    return Response(msgspec.json.encode(description.openapi()), media_type="application/json")


def _file(found: PageFile) -> Any:
    async def answer(request: Request) -> Response:
        headers = {"content-type": found.type, "etag": found.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers)

    return answer


async def _missing(request: Request, problem: Exception) -> Response:
    return api.refused_with(404, "not-found", "there is nothing at this address")


async def _wrong_method(request: Request, problem: Exception) -> Response:
    return api.refused_with(405, "wrong-method", "this address does not take that method")


def _tls(files: tuple[str, str] | None) -> dict[str, Any]:
    if files is None:
        return {}
    return {"ssl_certfile": files[0], "ssl_keyfile": files[1]}
