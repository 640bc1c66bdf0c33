"""Serving many clients over streamable HTTP, each of which must bring the token."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
import socket
import sys
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse

from hookline.domain.display import visible
from hookline.errors import INTERRUPTED, BadInput, HooklineError
from hookline.surfaces.mcp.server import Desk, make_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
TOKEN_VARIABLE = "HOOKLINE_MCP_TOKEN"  # noqa: S105  # the name of a variable
MIN_TOKEN, MAX_TOKEN = 16, 1024
MAX_BODY = 4 * 1024 * 1024
GRACE = 5


def main(
    environ: Mapping[str, str],
    *,
    host: str,
    port: int,
    token_file: str | None,
    tools: str,
    commands: bool,
) -> int:
    """Serve until a signal ends the server."""
    token, origin = find_token(environ, token_file)
    # The token is for clients, not for the hooks and commands that are run for them.
    desk_environ = {name: value for name, value in environ.items() if name != TOKEN_VARIABLE}
    os.environ.pop(TOKEN_VARIABLE, None)
    asyncio.run(
        _serve(Desk(desk_environ, tools=tools, commands=commands), host, port, token, origin)
    )
    return INTERRUPTED


async def _serve(desk: Desk, host: str, port: int, token: str, origin: str) -> None:
    config = uvicorn.Config(
        Guarded(make_app(desk, host), token),
        log_level="warning",
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=GRACE,
    )
    with _listening(host, port) as bound:
        name, real = bound.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        _note(f"serving http://{shown}:{real}{PATH}")
        _note(origin)
        if not _is_loopback(host):
            _note("warning: reachable from other machines, and what is sent is not encrypted")
        try:
            await HttpServer(config).serve(sockets=[bound])
        finally:
            await desk.close()


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


def make_app(desk: Desk, host: str) -> ASGIApp:
    """The protocol over HTTP; a browser that was lured here is refused by Host and Origin."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    if not _is_loopback(host):
        names.append(f"[{host}]" if ":" in host else host)
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    return make_server(desk).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=MAX_BODY,
        host=host,
    )


class Guarded:
    """Refuses every request that does not bring the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        if scope["type"] == "http" and not self._is_known(scope):
            refusal = PlainTextResponse(
                "the bearer token is missing or wrong\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        headers: list[Any] = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(headers) == 1 and hmac.compare_digest(headers[0], self._expected)


def find_token(environ: Mapping[str, str], token_file: str | None) -> tuple[str, str]:
    """(the token, a sentence about where it is from); without one a new one is made and shown."""
    if token_file is not None:
        return _checked(_read(token_file), token_file), f"token: as in {token_file}"
    if environ.get(TOKEN_VARIABLE):
        return _checked(environ[TOKEN_VARIABLE], TOKEN_VARIABLE), f"token: as in {TOKEN_VARIABLE}"
    token = secrets.token_urlsafe(32)
    return token, f"token: {token}"


def _read(path: str) -> str:
    try:
        if os.stat(path).st_mode & 0o077:
            raise BadInput(
                f"others can read {path}", help=f"close it with `chmod 600 {path}`, and change it"
            )
        with open(path, encoding="ascii") as file:
            return file.read(MAX_TOKEN + 2)
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"cannot read the token in {path}: {problem}") from problem


def _checked(text: str, place: str) -> str:
    token = text.strip()
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise BadInput(
            f"{place} holds no token: one has {MIN_TOKEN} to {MAX_TOKEN} plain characters",
            help="make one with `openssl rand -hex 32`",
        )
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _note(text: str) -> None:
    print(f"hookline mcp: {visible(text)}", file=sys.stderr, flush=True)
