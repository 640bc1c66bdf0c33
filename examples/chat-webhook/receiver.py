"""A receiver to try the hook with: prints what arrives. `python3 receiver.py [PORT]`."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Receiver(BaseHTTPRequestHandler):
    """Takes every POST, and answers with no actions."""

    def do_POST(self) -> None:
        """Print one line about the event."""
        body = self.rfile.read(int(self.headers["content-length"]))
        payload = json.loads(body)
        said = {
            "path": self.path,
            "authorization": self.headers["authorization"],
            "idempotencyKey": self.headers["idempotency-key"],
            "type": payload["event"]["type"],
            "goal": payload["task"]["goal"],
        }
        print(json.dumps(said), flush=True)
        answer = b'{"actions": []}'
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: what is printed is the messages."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8787), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
