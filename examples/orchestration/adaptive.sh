#!/bin/sh
# The strategy that the run names: `hookline flow start build --metadata
# '{"orchestrationStrategy": "parallel"}'`. The others stand beside this file.
set -eu

strategy=$(hookline flow status "$HOOKLINE_RUN_ID" --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["metadata"].get("orchestrationStrategy", "sequential"))')
echo "[adaptive] strategy: $strategy" >&2

case "$strategy" in
parallel | priority | rate-limited) exec "$(dirname "$0")/$strategy.sh" ;;
*) exec "$(dirname "$0")/sequential.sh" ;;
esac
