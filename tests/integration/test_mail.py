"""Mail through a real server on this machine: encrypted, or without a password."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.network.mail import SmtpClient
from hookline.domain.text.cleaning import Cleaner
from hookline.ports.network import CannotReach, MailServer
from tests.inbox import MailBox, certified, listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LETTER = b"Subject: hello\r\n\r\nhello\r\n"
PASSWORD = "correct-horse-battery"


@pytest.fixture
def mailbox() -> Iterator[MailBox]:
    server = MailBox()
    with listening(server):
        yield server


def send(server: MailServer, *recipients: str, timeout: float = 30) -> tuple[str, ...]:
    client = SmtpClient(Cleaner({"MAIL_PASSWORD": PASSWORD}))
    to = recipients or ("ada@example.org",)
    told = client.send(
        server, sender="hookline@example.org", recipients=to, letter=LETTER, timeout=timeout
    )
    return asyncio.run(told)


def place(mailbox: MailBox, host: str = "localhost", **more: str) -> MailServer:
    return MailServer(host, mailbox.server_address[1], **more)  # type: ignore[arg-type]


def test_a_letter_is_handed_in(mailbox: MailBox) -> None:
    assert send(place(mailbox)) == ()
    assert [each["Subject"] for each in mailbox.letters] == ["hello"]
    assert mailbox.logins == []


def test_a_server_that_offers_tls_gets_its_password_encrypted(
    mailbox: MailBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox.tls, certificate = certified(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    send(place(mailbox, user="ada", password=PASSWORD))
    assert (mailbox.encrypted, len(mailbox.logins), len(mailbox.letters)) == (1, 1, 1)


def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(
    mailbox: MailBox, tmp_path: Path
) -> None:
    mailbox.tls, _ = certified(tmp_path)
    with pytest.raises(CannotReach, match=r"(?i)certificate"):
        send(place(mailbox, user="ada", password=PASSWORD))
    assert (mailbox.logins, mailbox.letters) == ([], [])


def test_a_password_is_not_sent_in_the_clear_to_another_machine(mailbox: MailBox) -> None:
    """This address leads here, but does not say so."""
    server = place(mailbox, "::ffff:127.0.0.1", user="ada", password=PASSWORD)
    with pytest.raises(CannotReach, match="no TLS, so the password was not sent"):
        send(server)
    assert (mailbox.logins, mailbox.letters) == ([], [])


def test_the_addresses_that_hooks_may_not_ask_take_no_mail() -> None:
    with pytest.raises(CannotReach, match="refused"):
        send(MailServer("169.254.169.254", 25), timeout=5)


def test_those_whom_the_server_refuses_are_named(mailbox: MailBox) -> None:
    mailbox.refused = {"eve@example.org"}
    assert send(place(mailbox), "ada@example.org", "eve@example.org") == ("eve@example.org",)
    with pytest.raises(CannotReach, match="550 nobody of that name"):
        send(place(mailbox), "eve@example.org")


def test_a_secret_is_not_in_what_is_told_of_a_long_refusal_whole_or_in_part(
    mailbox: MailBox,
) -> None:
    mailbox.refused, mailbox.refusal = {"ada@example.org"}, f"{'x' * 190} {PASSWORD} of yours"
    with pytest.raises(CannotReach, match="550 xxx") as caught:
        send(place(mailbox))
    assert PASSWORD[:4] not in str(caught.value)


def test_a_server_that_says_nothing_is_given_up(mailbox: MailBox) -> None:
    mailbox.shutdown()  # it still takes connections, and nobody answers
    with pytest.raises(TimeoutError):
        send(place(mailbox), timeout=0.5)
