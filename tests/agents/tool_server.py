"""A small MCP server over stdio: its one tool `shout` answers in capitals, with a secret.

The secret stands in the environment variable TOOL_SECRET: whoever sees it in an answer knows
that the agent started the server with the environment that it was given.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SHOUT = {
    "name": "shout",
    "description": "Say a text loudly.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a method."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shouting", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [SHOUT]}
    if method == "tools/call":
        said = f"{params['arguments']['text'].upper()} {os.environ.get('TOOL_SECRET')}"
        return {"content": [{"type": "text", "text": said}]}
    return {}


def main() -> None:
    """Answer line by line until the agent hangs up."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {})
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
