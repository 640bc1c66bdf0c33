"""A program that calls tools inside an agent's turn: the server knows it by the environment alone.

It speaks the protocol by itself, because the SDK's client takes longer to load than all its calls.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from typing import Any

HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "tester", "version": "1"},
}


def main(calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Make these calls, one after the other, and say how each was answered."""
    words = (sys.executable, "-m", "hookline", "mcp", "--tools", "all")
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        numbers = count()

        def send(**message: Any) -> None:
            assert server.stdin is not None
            print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)

        def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            assert server.stdout is not None
            number = next(numbers)
            send(id=number, method=method, params=params)
            answer: dict[str, Any] = json.loads(server.stdout.readline())
            assert answer["id"] == number
            result: dict[str, Any] = answer["result"]
            return result

        ask("initialize", HANDSHAKE)
        send(method="notifications/initialized")
        for name, arguments in calls:
            result = ask("tools/call", {"name": name, "arguments": arguments})
            print(name, "refused" if result["isError"] else "done")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        main(json.load(file))
