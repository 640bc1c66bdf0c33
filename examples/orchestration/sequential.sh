#!/bin/sh
# One effect at a time, in the order in which the flow asked for them.
set -eu

first=$(hookline effect list "$HOOKLINE_RUN_ID" --pending --json | python3 -c '
import json, sys
able = [e for e in json.load(sys.stdin) if e["kind"] in ("node", "call", "agent")]
print("".join(e["effectId"] for e in able[:1]))')

if [ -z "$first" ]; then
  echo '{"action": "none", "reason": "no-tasks"}'
  exit 0
fi
# An effect that fails is the flow's business, not a failure of this hook.
hookline effect run "$HOOKLINE_RUN_ID" "$first" >&2 || true
python3 -c 'import json, sys
tasks = sys.argv[1:]
print(json.dumps({"action": "executed-tasks", "count": len(tasks), "tasks": tasks}))' "$first"
