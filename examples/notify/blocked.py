"""Reads the payload of a `task_blocked` hook from stdin and prints one line about it."""

from __future__ import annotations

import json
import sys

payload = json.load(sys.stdin)
task, data = payload["task"], payload["event"]["data"]
print(f"{task['id']} is blocked: {data['reason']}")
