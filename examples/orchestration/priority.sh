#!/bin/sh
# The effect with the highest `priority` in its metadata first, one at a time.
set -eu

highest=$(hookline effect list "$HOOKLINE_RUN_ID" --pending --json | python3 -c '
import json, sys
able = [e for e in json.load(sys.stdin) if e["kind"] in ("node", "call", "agent")]
able.sort(key=lambda e: -e["metadata"].get("priority", 0))
print("".join(e["effectId"] for e in able[:1]))')

if [ -z "$highest" ]; then
  echo '{"action": "none", "reason": "no-high-priority-tasks"}'
  exit 0
fi
# An effect that fails is the flow's business, not a failure of this hook.
hookline effect run "$HOOKLINE_RUN_ID" "$highest" >&2 || true
python3 -c 'import json, sys
tasks = sys.argv[1:]
print(json.dumps({"action": "executed-tasks", "count": len(tasks), "tasks": tasks, "priority": True}))' "$highest"
