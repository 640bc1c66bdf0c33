#!/usr/bin/env python3
"""Filter: effects whose metadata says `hold` are left out; the next hook chooses from the rest."""

import json
import subprocess
import sys

run = json.load(sys.stdin)["runId"]
listed = subprocess.run(
    ["hookline", "effect", "list", run, "--pending", "--json"], stdout=subprocess.PIPE, check=True
)
tasks = [
    effect["effectId"]
    for effect in json.loads(listed.stdout)
    if effect["kind"] in ("node", "call", "agent") and not effect["metadata"].get("hold")
]
print(json.dumps({"action": "pass", "tasks": tasks}))
