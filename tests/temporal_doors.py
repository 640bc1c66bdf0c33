"""What stands before a Temporal server: who refuses everyone, and who asks for a certificate."""

from __future__ import annotations

import socket
import ssl
import struct
import subprocess
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _SETTINGS, _PING = 1, 4, 6
_ACK, _ALL = 1, 5


def _field(name: bytes, value: bytes) -> bytes:
    """A header of HTTP/2 as it is, without a table."""
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value


# `:status: 200`, and the code of gRPC for those who have no right.
_REFUSAL = b"\x88" + _field(b"content-type", b"application/grpc") + _field(b"grpc-status", b"7")


@contextmanager
def refusing_server() -> Iterator[str]:
    """A server that answers every call with PERMISSION_DENIED; its address."""
    with _listening(_refuse) as port:
        yield f"127.0.0.1:{port}"


def _refuse(peer: socket.socket) -> None:
    with peer.makefile("rb") as file:
        assert file.read(len(_PREFACE)) == _PREFACE
        peer.sendall(_frame(_SETTINGS, 0, 0))
        while len(head := file.read(9)) == 9:
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream, data = int.from_bytes(head[5:], "big"), file.read(size)
            if kind in (_SETTINGS, _PING) and not flags & _ACK:
                peer.sendall(_frame(kind, _ACK, 0, data if kind == _PING else b""))
            elif kind == _HEADERS:
                peer.sendall(_frame(_HEADERS, _ALL, stream, _REFUSAL))


def _frame(kind: int, flags: int, stream: int, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data))[1:] + struct.pack(">BBI", kind, flags, stream) + data


class Certificates:
    """One authority, and what it has signed: a server at 127.0.0.1, and a client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._openssl(*"req -x509 -newkey rsa:2048 -nodes -subj /CN=ca -days 2".split(), "ca")
        for name in ("server", "client"):
            self._signed(name)

    def path(self, name: str) -> str:
        """A file, such as `client.pem` or `client.key`."""
        return str(self.folder / name)

    def _signed(self, name: str) -> None:
        words = "req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2"
        more = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE"
        by = ("-CA", self.path("ca.pem"), "-CAkey", self.path("ca.key"))
        self._openssl(*words.split(), *more.split(), *by, name)

    def _openssl(self, *words: str) -> None:
        *given, name = words
        out = ("-out", self.path(f"{name}.pem"), "-keyout", self.path(f"{name}.key"))
        subprocess.run(("openssl", *given, *out), check=True, capture_output=True)


@contextmanager
def tls_door(address: str, known: Certificates) -> Iterator[str]:
    """Leads to a server, for those who show a certificate of the authority; its address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=known.path("ca.pem"))
    context.load_cert_chain(known.path("server.pem"), known.path("server.key"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")

    def lead(peer: socket.socket) -> None:
        with (
            context.wrap_socket(peer, server_side=True) as inside,
            socket.create_connection((host, int(port))) as outside,
        ):
            back = threading.Thread(target=_pump, args=(outside, inside), daemon=True)
            back.start()
            _pump(inside, outside)
            back.join()

    with _listening(lead) as own:
        yield f"127.0.0.1:{own}"


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serves each connection in a thread; the port."""
    peers: list[socket.socket] = []

    def handle(peer: socket.socket) -> None:
        with suppress(OSError), closing(peer):
            serve(peer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                peers.append(peer)
                threading.Thread(target=handle, args=(peer,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for each in peers:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            thread.join()
