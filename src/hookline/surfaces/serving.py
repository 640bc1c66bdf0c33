"""What the servers of this package share: their connections, and who is let in.

Every request must bring a token, name this server as it is called, and come from a page of it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import re
import signal
import socket
import threading
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import uvicorn
from anyio import to_thread
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

T = TypeVar("T")
MAX_BODY = 4 * 1024 * 1024
GRACE = 5
# How long a client may take to send a request, and between two of them.
IDLE = 30
# Where a request says in which role it came in.
ROLE = "hookline.role"
_LOG = logging.getLogger("uvicorn.error")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def server_config(app: ASGIApp, idle: int = IDLE, **more: Any) -> uvicorn.Config:
    """How a server treats its connections."""
    found = uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        # What a request says about where it comes from is not believed: only its connection is.
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=idle,
        timeout_graceful_shutdown=GRACE,
        **more,
    )
    _LOG.addFilter(_is_no_end)
    return found


def _is_no_end(record: logging.LogRecord) -> bool:
    """Whether a line of the log is about more than a request that the server's end interrupted."""
    problem = record.exc_info[1] if record.exc_info else None
    return not isinstance(problem, asyncio.CancelledError)


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


async def in_thread(ask: Callable[[], T]) -> T:
    """What `ask` returns. A server that ends does not wait for a store that answers nothing."""
    return await to_thread.run_sync(ask, abandon_on_cancel=True)


class HttpServer(uvicorn.Server):
    """Ends at a signal and lets its caller clean up, instead of raising the signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end a server; in a thread, its caller does."""
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End it; who tells it twice is not told what that has interrupted."""
        await super().shutdown(sockets)
        _LOG.disabled = self.force_exit


def listening(host: str, port: int, option: str) -> socket.socket:
    """The socket of a server; `option` is what names its port."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise HooklineError(
            f"cannot listen on {host}, port {port}: {_why(problem)}",
            help=f"choose another {option} PORT; 0 takes any that is free",
        ) from problem


def _why(problem: OSError) -> str:
    """What went wrong, without the address that Python adds."""
    return os.strerror(problem.errno) if problem.errno and problem.errno > 0 else str(problem)


def is_loopback(host: str) -> bool:
    """Whether a name or address is only known to this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def as_in_url(host: str) -> str:
    """An address as URLs have it."""
    return f"[{host}]" if ":" in host else host.lower()


# Who is let in


class Addresses(NamedTuple):
    """How requests may name this server, and which pages they may come from."""

    hosts: re.Pattern[str]
    origins: re.Pattern[str]


def addresses(host: str, port: int, scheme: str = "http") -> Addresses:
    """Those of a server that listens there; pages of other ports of it are trusted, too."""
    names = [*LOOPBACK, *(() if is_loopback(host) else (as_in_url(host),))]
    known = "|".join(map(re.escape, names))
    usual = {"http": 80, "https": 443}[scheme]
    hosts = f"(?:{known}):{port}" + (f"|{known}" if port == usual else "")
    return Addresses(re.compile(hosts), re.compile(f"{scheme}://(?:{known})(?::[0-9]{{1,5}})?"))


def _nothing(scope: Scope) -> bool:
    return False


def in_plain_text(status: int, code: str, message: str) -> Response:
    """A refusal as a line of text."""
    return PlainTextResponse(f"{message}\n", status_code=status)


class Guarded:
    """Refuses every request that does not bring a token, or that a browser was lured to send.

    Host and Origin are compared as a whole. `roles` are the roles of tokens: which one a request
    came in with is in its scope. What `is_open` needs no token, but is only shown under our name.
    """

    def __init__(
        self,
        app: ASGIApp,
        roles: Mapping[str, str],
        known: Addresses,
        is_open: Callable[[Scope], bool] = _nothing,
        refused: Callable[[int, str, str], Response] = in_plain_text,
    ) -> None:
        self._app = app
        self._roles = {f"Bearer {token}".encode(): role for token, role in roles.items()}
        self._known, self._is_open, self._refused = known, is_open, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say why not."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = scope["headers"]
        if not self._is_open(scope):
            role = self._role(_values(headers, b"authorization"))
            if role is None:
                answer = self._refused(401, "token", "the bearer token is missing or wrong")
                answer.headers["WWW-Authenticate"] = "Bearer"
                return answer
            scope[ROLE] = role
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or not _is_whole(self._known.hosts, hosts[0]):
            return self._refused(421, "host", "unknown host name")
        origins = _values(headers, b"origin")
        if not all(_is_whole(self._known.origins, origin) for origin in origins):
            return self._refused(403, "origin", "requests from other origins are refused")
        return None

    def _role(self, tokens: list[bytes]) -> str | None:
        """The role that a token lets in; how long that takes says nothing about the tokens."""
        given = tokens[0] if len(tokens) == 1 else b""
        found = None
        for expected, role in self._roles.items():
            if hmac.compare_digest(given, expected):
                found = role
        return found


def _values(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _is_whole(pattern: re.Pattern[str], value: bytes) -> bool:
    return pattern.fullmatch(value.decode("latin-1").lower()) is not None
