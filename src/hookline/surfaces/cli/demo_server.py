"""The tiny web server that the demo's http hook asks: on this machine only, gone with the demo."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from types import TracebackType


class Webhook:
    """A server on 127.0.0.1 that remembers what it was sent."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.received))
        self.port = self._server.server_port
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Webhook:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(received: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Takes one event and says thanks."""

        def do_POST(self) -> None:  # the name that http.server looks for
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            event = msgspec.json.decode(body)["event"]
            received.append(f"{event['type']} {event['nodeId']}")
            answer = b'{"thanks": true}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """The demo speaks for it."""

    return Handler
