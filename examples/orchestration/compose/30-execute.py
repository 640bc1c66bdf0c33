#!/usr/bin/env python3
"""Execute: the first three of the effects that came through, one after the other."""

import json
import subprocess
import sys

payload = json.load(sys.stdin)
tasks = payload["tasks"][:3]
for task in tasks:
    subprocess.run(["hookline", "effect", "run", payload["runId"], task], stdout=sys.stderr)
action = "executed-tasks" if tasks else "none"
print(json.dumps({"action": action, "count": len(tasks), "tasks": tasks}))
