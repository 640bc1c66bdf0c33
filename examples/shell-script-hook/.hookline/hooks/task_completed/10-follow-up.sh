#!/bin/sh
# Each bug that is fixed needs a regression test. The payload is on stdin, the answer goes to
# stdout; what a person should read goes to stderr, which `hookline why` shows.
case ",$HOOKLINE_TASK_LABELS," in
*,bug,*) ;;
*) exit 0 ;;
esac
echo "$HOOKLINE_TASK_ID was a bug: asking for a regression test" >&2
cat <<JSON
{"actions": [{"type": "create_task", "payload": {
  "goal": "Add a regression test for $HOOKLINE_TASK_ID",
  "labels": ["test"],
  "parentTaskId": "$HOOKLINE_TASK_ID"}}]}
JSON
