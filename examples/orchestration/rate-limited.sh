#!/bin/sh
# One effect at a time, with at least RATE_SECONDS between them (5 unless it is set).
set -eu

stamp="$HOOKLINE_RUN_DIR/rate-limit"
wait=$(python3 -c 'import os, sys, time
last = os.path.getmtime(sys.argv[1]) if os.path.exists(sys.argv[1]) else 0
left = last + float(sys.argv[2]) - time.time()
print(f"{left:.3f}" if left > 0 else "")' "$stamp" "${RATE_SECONDS:-5}")
if [ -n "$wait" ]; then
  echo "{\"action\": \"waiting\", \"reason\": \"rate-limit\", \"waitSeconds\": $wait}"
  exit 0
fi

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
touch "$stamp"
python3 -c 'import json, sys
tasks = sys.argv[1:]
print(json.dumps({"action": "executed-tasks", "count": len(tasks), "tasks": tasks}))' "$first"
