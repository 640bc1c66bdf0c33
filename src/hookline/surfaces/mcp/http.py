"""Serving many clients over streamable HTTP, each of which must bring the token."""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
import signal
import socket
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from hookline.errors import INTERRUPTED, BadInput, HooklineError
from hookline.surfaces.mcp.server import Desk, make_server
from hookline.surfaces.mcp.visit import note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
TOKEN_VARIABLE = "HOOKLINE_MCP_TOKEN"  # noqa: S105  # the name of a variable
MIN_TOKEN, MAX_TOKEN = 16, 1024
MAX_BODY = 4 * 1024 * 1024
GRACE = 5
# How long a client may take to send a request, and between two of them.
IDLE = 30


def main(
    environ: Mapping[str, str], *, host: str, port: int, token_file: str | None, **served: Any
) -> int:
    """Serve until a signal ends the server; `served` is which tools a desk has."""
    token, origin = find_token(environ, token_file)
    # The token is for clients, not for the hooks and commands that are run for them.
    desk_environ = {name: value for name, value in environ.items() if name != TOKEN_VARIABLE}
    os.environ.pop(TOKEN_VARIABLE, None)
    asyncio.run(_serve(Desk(desk_environ, **served), host, port, token, origin))
    return INTERRUPTED


async def _serve(desk: Desk, host: str, port: int, token: str, origin: str) -> None:
    with _listening(host, port) as bound:
        name, real = bound.getsockname()[:2]
        config = server_config(Guarded(make_app(desk), token, _names(host), real))
        shown = f"[{name}]" if ":" in name else name
        note(f"serving http://{shown}:{real}{PATH}")
        note(origin)
        if not _is_loopback(host):
            note("warning: reachable from other machines, and traffic is not encrypted")
        try:
            await HttpServer(config).serve(sockets=[bound])
        finally:
            await desk.close()


def server_config(app: ASGIApp, idle: int = IDLE) -> uvicorn.Config:
    """How the server treats its connections."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        ws="none",
        timeout_keep_alive=idle,
        timeout_graceful_shutdown=GRACE,
    )


class Connection(H11Protocol):
    """Is dropped if its client does not send a whole request in time, the first one included.

    Without this only the time between two requests has an end: whoever connects and says nothing,
    or says it byte by byte, keeps the connection.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def handle_events(self) -> None:
        """Take what was sent; a request that is not whole yet has no more time for that."""
        until = self._until
        super().handle_events()
        if self.timeout_keep_alive_task is None and not self._is_answering():
            self._wait(until)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self._wait()

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def _wait(self, until: float | None = None) -> None:
        self._unset_keepalive_if_required()
        self._until = until or self.loop.time() + self.timeout_keep_alive
        self.timeout_keep_alive_task = self.loop.call_at(self._until, self.drop)

    def drop(self) -> None:
        """Close the connection; a request that is under way has no answer any more."""
        self.transport.close()


class HttpServer(uvicorn.Server):
    """Ends at a signal and lets its caller clean up, instead of raising the signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end a server."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise HooklineError(
            f"cannot listen on {host}, port {port}: {problem.strerror or problem}",
            help="choose another --http PORT; 0 takes any that is free",
        ) from problem


def make_app(desk: Desk) -> ASGIApp:
    """The protocol over HTTP; `Guarded` says who is let in."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return make_server(desk).streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=MAX_BODY
    )


def _names(host: str) -> list[str]:
    """The names of this server in URLs."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    if not _is_loopback(host):
        names.append(f"[{host}]" if ":" in host else host.lower())
    return names


class Guarded:
    """Refuses every request that does not bring the token, or that a browser was lured to send.

    Host and Origin are compared as a whole: the name of this server, and a port.
    """

    def __init__(self, app: ASGIApp, token: str, names: list[str], port: int) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        known = "|".join(map(re.escape, names))
        self._host = re.compile(f"(?:{known}):{port}" + ("|" + known if port == 80 else ""))
        self._origin = re.compile(f"http://(?:{known})(?::[0-9]{{1,5}})?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say why not."""
        refusal = self._refusal(scope["headers"]) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> PlainTextResponse | None:
        tokens = _values(headers, b"authorization")
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._expected):
            wrong, wanted = "the bearer token is missing or wrong\n", {"WWW-Authenticate": "Bearer"}
            return PlainTextResponse(wrong, status_code=401, headers=wanted)
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or not _is_whole(self._host, hosts[0]):
            return PlainTextResponse("unknown host name\n", status_code=421)
        if not all(_is_whole(self._origin, origin) for origin in _values(headers, b"origin")):
            return PlainTextResponse("requests from other origins are refused\n", status_code=403)
        return None


def _values(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _is_whole(pattern: re.Pattern[str], value: bytes) -> bool:
    return pattern.fullmatch(value.decode("latin-1").lower()) is not None


def find_token(environ: Mapping[str, str], token_file: str | None) -> tuple[str, str]:
    """(the token, a sentence about where it is from); without one a new one is made and shown."""
    if token_file is not None:
        return _checked(_read(token_file), token_file), f"token: from {token_file}"
    if environ.get(TOKEN_VARIABLE):
        return _checked(environ[TOKEN_VARIABLE], TOKEN_VARIABLE), f"token: from {TOKEN_VARIABLE}"
    token = secrets.token_urlsafe(32)
    return token, f"token: {token}"


def _read(path: str) -> str:
    try:
        if os.stat(path).st_mode & 0o077:
            help = f"run `chmod 600 {path}`, and change the token"
            raise BadInput(f"others can read {path}", help=help)
        with open(path, encoding="ascii") as file:
            return file.read(MAX_TOKEN + 2)
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"cannot read the token in {path}: {problem}") from problem


def _checked(text: str, place: str) -> str:
    token = text.strip()
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise BadInput(
            f"{place} has no valid token: it needs {MIN_TOKEN} to {MAX_TOKEN} plain characters",
            help="make one with `openssl rand -hex 32`",
        )
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
