"""The door to the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class HttpReply(msgspec.Struct, frozen=True):
    """What a server answered, its body capped by the caller's limit."""

    status: int
    body: bytes


class CannotReach(Exception):
    """The server could not be asked, refused, or did not answer as it must."""


class Http(Protocol):
    """The one door to the network."""

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float, limit: int
    ) -> HttpReply:
        """POST to exactly this host; no redirect is followed, link-local is refused.

        Raises CannotReach, or TimeoutError when the deadline passed.
        """


class MailServer(msgspec.Struct, frozen=True):
    """Who takes mail: with TLS from the first byte, or as soon as the server offers it."""

    host: str
    port: int
    is_tls: bool = False
    user: str | None = None
    password: str | None = None


class Mail(Protocol):
    """The door through which mail goes."""

    async def send(
        self,
        server: MailServer,
        *,
        sender: str,
        recipients: tuple[str, ...],
        letter: bytes,
        timeout: float,
    ) -> tuple[str, ...]:
        """Send a mail; the recipients that the server refused, if it accepted others.

        A password is never sent in the clear to another machine.

        Raises CannotReach, or TimeoutError when the deadline passed.
        """
