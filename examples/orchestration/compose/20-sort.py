#!/usr/bin/env python3
"""Sort: the effects that the hook before passed on, the highest priority first."""

import json
import subprocess
import sys

payload = json.load(sys.stdin)
listed = subprocess.run(
    ["hookline", "effect", "list", payload["runId"], "--pending", "--json"],
    stdout=subprocess.PIPE,
    check=True,
)
priority = {e["effectId"]: e["metadata"].get("priority", 0) for e in json.loads(listed.stdout)}
tasks = sorted(payload["tasks"], key=lambda task: -priority.get(task, 0))
print(json.dumps({"action": "pass", "tasks": tasks}))
