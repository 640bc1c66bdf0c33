#!/bin/sh
# Up to BATCH_SIZE effects side by side (5 unless it is set); the next batch when all are over.
set -eu

batch=$(hookline effect list "$HOOKLINE_RUN_ID" --pending --json | python3 -c '
import json, sys
able = [e for e in json.load(sys.stdin) if e["kind"] in ("node", "call", "agent")]
for effect in able[: int(sys.argv[1])]:
    print(effect["effectId"])' "${BATCH_SIZE:-5}")

if [ -z "$batch" ]; then
  echo '{"action": "none", "reason": "no-tasks"}'
  exit 0
fi
printf '%s\n' "$batch" | {
  while IFS= read -r effect; do
    hookline effect run "$HOOKLINE_RUN_ID" "$effect" >&2 &
  done
  wait
}
printf '%s\n' "$batch" | python3 -c 'import json, sys
tasks = sys.stdin.read().splitlines()
print(json.dumps({"action": "executed-tasks", "count": len(tasks), "tasks": tasks}))'
