"""Serving many clients over streamable HTTP, each of which must bring the token."""

from __future__ import annotations

import asyncio
import os
import secrets
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

from hookline.errors import INTERRUPTED, BadInput
from hookline.surfaces.mcp.server import Desk, make_server
from hookline.surfaces.mcp.visit import note
from hookline.surfaces.serving import (
    MAX_BODY,
    Guarded,
    HttpServer,
    addresses,
    as_in_url,
    is_loopback,
    listening,
    server_config,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp

PATH = "/mcp"
TOKEN_VARIABLE = "HOOKLINE_MCP_TOKEN"  # noqa: S105  # the name of a variable
MIN_TOKEN, MAX_TOKEN = 16, 1024


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
    with listening(host, port, "--http") as bound:
        name, real = bound.getsockname()[:2]
        config = server_config(Guarded(make_app(desk), {token: "agent"}, addresses(host, real)))
        note(f"serving http://{as_in_url(name)}:{real}{PATH}")
        note(origin)
        if not is_loopback(host):
            note("warning: reachable from other machines, and traffic is not encrypted")
        try:
            await HttpServer(config).serve(sockets=[bound])
        finally:
            await desk.close()


def endpoint(environ: Mapping[str, str]) -> tuple[Desk, ASGIApp]:
    """The tools for a server that has other things to serve, and the desk to be closed."""
    desk = Desk(environ)
    return desk, make_app(desk)


def make_app(desk: Desk) -> ASGIApp:
    """The protocol over HTTP; `Guarded` says who is let in."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return make_server(desk).streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=MAX_BODY
    )


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
