"""Mail: one letter to a server at an address that was checked, within one deadline.

smtplib blocks, so it works in a thread. The composition root loads this when a hook needs it.
"""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from hookline.adapters.network.resolving import resolve
from hookline.ports.network import CannotReach

if TYPE_CHECKING:
    from hookline.domain.text.cleaning import Cleaner
    from hookline.ports.network import MailServer

SHOWN = 200


class SmtpClient:
    """Hands letters in; what servers answer is cleaned."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner

    async def send(
        self,
        server: MailServer,
        *,
        sender: str,
        recipients: tuple[str, ...],
        letter: bytes,
        timeout: float,
    ) -> tuple[str, ...]:
        async with asyncio.timeout(timeout):
            addresses = await resolve(server.host, server.port)
            try:
                return await asyncio.to_thread(
                    _hand_in, server, addresses, sender, recipients, letter, timeout
                )
            except TimeoutError:
                raise
            except (smtplib.SMTPException, OSError) as problem:
                said = self._cleaner.text(_said(problem))[:SHOWN]
                raise CannotReach(f"{server.host} did not take the mail: {said}") from problem


class _Checked:
    """Connects to addresses that were checked, whatever the name of the host."""

    def __init__(self, addresses: list[str], **options: Any) -> None:
        self._addresses = addresses
        super().__init__(**options)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        problem: OSError | None = None
        for address in self._addresses:
            try:
                return super()._get_socket(address, port, timeout)  # type: ignore[misc, no-any-return]
            except OSError as error:
                problem = error
        raise problem or OSError("it has no address")


class _Plain(_Checked, smtplib.SMTP):
    """A connection that is encrypted as soon as the server offers it."""


class _Encrypted(_Checked, smtplib.SMTP_SSL):
    """A connection that is encrypted from the first byte; the name of the host is verified."""


def _hand_in(
    server: MailServer,
    addresses: list[str],
    sender: str,
    recipients: tuple[str, ...],
    letter: bytes,
    timeout: float,
) -> tuple[str, ...]:
    """The recipients that the server refused, if it accepted others."""
    client = _connected(server, addresses, timeout)
    try:
        is_safe = server.is_tls or all(ip_address(each).is_loopback for each in addresses)
        client.ehlo_or_helo_if_needed()
        if not server.is_tls and client.has_extn("starttls"):
            client.starttls(context=ssl.create_default_context())
            is_safe = True
        if server.user is not None and server.password is not None:
            if not is_safe:
                raise smtplib.SMTPException("it offers no TLS, so the password was not sent")
            client.login(server.user, server.password)
        refused = client.sendmail(sender, list(recipients), letter)
        with suppress(smtplib.SMTPException, OSError):  # it has the letter, however it says goodbye
            client.quit()
        return tuple(refused)
    finally:
        client.close()


def _connected(server: MailServer, addresses: list[str], timeout: float) -> smtplib.SMTP:
    name = socket.gethostname()
    place: dict[str, Any] = {
        "host": server.host,
        "port": server.port,
        "timeout": timeout,
        "local_hostname": name if "." in name else "[127.0.0.1]",
    }
    if server.is_tls:
        return _Encrypted(addresses, context=ssl.create_default_context(), **place)
    return _Plain(addresses, **place)


def _said(problem: Exception) -> str:
    """What went wrong, in a line; a server's words are text of others."""
    if isinstance(problem, smtplib.SMTPRecipientsRefused):
        code, said = next(iter(problem.recipients.values()))
        return f"{code} {said.decode('utf-8', 'replace')}"
    if isinstance(problem, smtplib.SMTPResponseException):
        text = problem.smtp_error
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return f"{problem.smtp_code} {shown}"
    return str(problem) or type(problem).__name__
