"""Stand-ins for those who take notifications: a web server and a mail server, each in a thread."""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage
    from pathlib import Path


class Received(NamedTuple):
    """One request: its path, its headers in lower case, and the JSON that it brought."""

    path: str
    headers: dict[str, str]
    said: dict[str, Any]

    @property
    def key(self) -> str:
        """What tells a repeat from another notification."""
        assert self.headers["idempotency-key"] == self.headers["x-message-id"]
        return self.headers["idempotency-key"]


class Inbox(ThreadingHTTPServer):
    """Keeps what it is sent; answers with `status`, after what is in `answers` is used up.

    With a `delay` it takes that long to answer. If it `repeats`, a refusal tells its path.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[Received] = []
        self.status = 200
        self.answers: list[int] = []
        self.delay = 0.0
        self.repeats = False

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def at(self, path: str) -> list[Received]:
        """What came to one of its paths."""
        return [each for each in self.received if each.path == path]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed while they speak."""


class _Handler(BaseHTTPRequestHandler):
    server: Inbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if not body:
            return  # whoever spoke was killed
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(self.path, headers, json.loads(body)))
        time.sleep(self.server.delay)
        status = self.server.answers.pop(0) if self.server.answers else self.server.status
        said = b"" if status < 300 else b"try later"
        if said and self.server.repeats:
            path, _, query = self.path.partition("?")
            parts = [path, query, *path.split("/"), *query.split("=")]
            said = f"no service {self.path}: {' '.join(map(unquote, parts))}".encode()
        self.send_response(status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:
        """The tests read what was sent, not what was logged."""


class MailBox(socketserver.ThreadingTCPServer):
    """Takes mail as a small server does; `refused` are addresses that it has no box for.

    With `tls` it offers to encrypt; `encrypted` counts those who took the offer.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.letters: list[EmailMessage] = []
        self.envelopes: list[tuple[str, list[str]]] = []
        self.logins: list[str] = []
        self.refused: set[str] = set()
        self.refusal = "nobody of that name"
        self.tls: ssl.SSLContext | None = None
        self.encrypted = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"smtp://127.0.0.1:{self.server_address[1]}"


class _Talk(socketserver.StreamRequestHandler):
    server: MailBox

    def handle(self) -> None:
        sender, recipients = "", list[str]()
        self._say("220 here")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            verb = line[:4].upper()
            if verb == "EHLO":
                offers = ["250-STARTTLS"] if self._may_encrypt() else []
                self._say("250-here", *offers, "250 AUTH PLAIN")
            elif verb == "STAR":
                self._say("220 go on")
                self._encrypt()
            elif verb == "AUTH":
                self.server.logins.append(line)
                self._say("235 welcome")
            elif verb == "MAIL":
                sender, recipients = line, []
                self._say("250 ok")
            elif verb == "RCPT":
                is_known = not any(each in line for each in self.server.refused)
                recipients += [line] if is_known else []
                self._say("250 ok" if is_known else f"550 {self.server.refusal}")
            elif verb == "DATA":
                self._say("354 go on")
                self.server.letters.append(self._letter())
                self.server.envelopes.append((sender, recipients))
                self._say("250 taken")
            else:
                self._say("221 bye" if verb == "QUIT" else "250 ok")

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def _may_encrypt(self) -> bool:
        return self.server.tls is not None and not isinstance(self.connection, ssl.SSLSocket)

    def _encrypt(self) -> None:
        assert self.server.tls is not None
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = (self.connection.makefile(mode, 0) for mode in ("rb", "wb"))
        self.server.encrypted += 1

    def _letter(self) -> EmailMessage:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line)
        return message_from_bytes(b"".join(lines), policy=default)

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


def certified(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """What lets a server speak TLS as `localhost`, and the certificate that vouches for it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        (
            *(openssl, "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", os.fspath(key), "-out", os.fspath(certificate)),
        ),
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


@contextmanager
def listening(server: socketserver.BaseServer) -> Iterator[None]:
    """Let a server listen in a thread."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
