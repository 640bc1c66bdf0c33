#!/bin/sh
# A script hook: the event arrives as JSON on stdin, the answer leaves as JSON on stdout.
lines=$(cat ./*.py | wc -l)
cat <<ANSWER
{"actions": [{"type": "log", "payload": {"type": "code_measured",
  "nodeId": "$HOOKLINE_TASK_ID", "data": {"lines": $((lines))}}}]}
ANSWER
