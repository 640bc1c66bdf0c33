"""Strategies as shell scripts with jq: each posts results itself, and knows its run by a folder.

The scripts are those of the design of hook-driven orchestration, word for word but for the names
of the folder and of the commands.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# The library of jq as the program that the scripts call, so that they run on every machine.
JQ = """\
import json, sys
import jq
*options, program = sys.argv[1:]
text = sys.stdin.read()
if "-R" in options:
    text = "\\n".join(json.dumps(line) for line in text.splitlines())
for value in jq.compile(program).input_text(text, slurp="-s" in options):
    raw = "-r" in options and isinstance(value, str)
    print(value if raw else json.dumps(value, indent=2))
"""
HOOKS = ".hookline/hooks/on-iteration-start"
HEAD = """\
#!/bin/bash
set -euo pipefail

PAYLOAD=$(cat)
RUN_ID=$(echo "$PAYLOAD" | jq -r '.runId')
RUN_DIR=".hookline/runs/$RUN_ID"
"""
SEQUENTIAL = (
    HEAD
    + r"""
# Just run the first pending task
FIRST_TASK=$(hookline effect list "$RUN_DIR" --pending --json | \
  jq -r '.[0].effectId // empty')

if [ -n "$FIRST_TASK" ]; then
  hookline effect post "$RUN_DIR" "$FIRST_TASK" --status ok
  echo '{"action":"executed-tasks","count":1,"tasks":["'$FIRST_TASK'"]}'
else
  echo '{"action":"none","reason":"no-tasks"}'
fi
"""
)
PARALLEL = (
    HEAD
    + r"""
# Get up to 5 pending tasks
TASKS=$(hookline effect list "$RUN_DIR" --pending --json | \
  jq -r '.[0:5] | .[].effectId')

# Run in parallel
PIDS=()
for task in $TASKS; do
  hookline effect post "$RUN_DIR" "$task" --status ok &
  PIDS+=($!)
done

# Wait for all
for pid in "${PIDS[@]}"; do
  wait "$pid"
done

TASK_ARRAY=$(echo "$TASKS" | jq -R . | jq -s .)
echo '{"action":"executed-tasks","count":'${#PIDS[@]}',"tasks":'$TASK_ARRAY'}'
"""
)
PRIORITY = (
    HEAD
    + r"""
# Get all pending tasks and sort by priority metadata
HIGH_PRIORITY=$(hookline effect list "$RUN_DIR" --pending --json | \
  jq -r 'sort_by(.metadata.priority // 0) | reverse | .[0].effectId')

if [ -n "$HIGH_PRIORITY" ] && [ "$HIGH_PRIORITY" != "null" ]; then
  hookline effect post "$RUN_DIR" "$HIGH_PRIORITY" --status ok
  echo '{"action":"executed-tasks","count":1,"tasks":["'$HIGH_PRIORITY'"],"priority":true}'
else
  echo '{"action":"none","reason":"no-high-priority-tasks"}'
fi
"""
)
RATE_LIMITED = (
    HEAD
    + r"""RATE_LIMIT_FILE=".hookline/runs/$RUN_ID/.rate-limit"

# Check last execution time
if [ -f "$RATE_LIMIT_FILE" ]; then
  LAST_EXEC=$(cat "$RATE_LIMIT_FILE")
  CURRENT_TIME=$(date +%s)
  TIME_DIFF=$((CURRENT_TIME - LAST_EXEC))

  # Enforce 5-second minimum between executions
  if [ $TIME_DIFF -lt 5 ]; then
    WAIT_TIME=$((5 - TIME_DIFF))
    echo '{"action":"waiting","reason":"rate-limit","waitSeconds":'$WAIT_TIME'}'
    exit 0
  fi
fi

# Execute one task
TASK=$(hookline effect list "$RUN_DIR" --pending --json | \
  jq -r '.[0].effectId // empty')

if [ -n "$TASK" ]; then
  hookline effect post "$RUN_DIR" "$TASK" --status ok
  date +%s > "$RATE_LIMIT_FILE"
  echo '{"action":"executed-tasks","count":1,"tasks":["'$TASK'"]}'
else
  echo '{"action":"none","reason":"no-tasks"}'
fi
"""
)
ADAPTIVE = (
    HEAD
    + r"""
# Read run metadata to determine strategy
RUN_METADATA=$(cat "$RUN_DIR/run.json")
STRATEGY=$(echo "$RUN_METADATA" | jq -r '.metadata.orchestrationStrategy // "sequential"')

echo "[adaptive] Using strategy: $STRATEGY" >&2

case "$STRATEGY" in
  parallel)
    # Execute 3 tasks in parallel
    exec .hookline/hooks/on-iteration-start/parallel.sh
    ;;
  priority)
    # Execute highest priority
    exec .hookline/hooks/on-iteration-start/priority.sh
    ;;
  sequential|*)
    # Default sequential
    exec .hookline/hooks/on-iteration-start/sequential.sh
    ;;
esac
"""
)
SCRIPTS = {
    "sequential.sh": SEQUENTIAL,
    "parallel.sh": PARALLEL,
    "priority.sh": PRIORITY,
    "rate-limited.sh": RATE_LIMITED,
    "adaptive.sh": ADAPTIVE,
}


def use(cli: Cli, priorities: list[int], *scripts: str) -> None:
    """A flow with so many parts beside each other, and scripts that steer it."""
    programs = cli.root.parent / "bin"
    programs.mkdir()
    (programs / "program.py").write_text(JQ)
    (programs / "jq").write_text(
        f'#!/bin/sh\nexec {sys.executable} -P {programs}/program.py "$@"\n'
    )
    (programs / "jq").chmod(0o755)
    cli.env["PATH"] = f"{programs}:{Path(sys.executable).parent}:{cli.env['PATH']}"
    parts = [
        {"id": f"p{n}", "run": f"touch ran-{n}", "metadata": {"priority": priority}}
        for n, priority in enumerate(priorities, 1)
    ]
    for script in scripts:
        cli.put(f"{HOOKS}/{script}", SCRIPTS[script], 0o755)
    steps = json.dumps([{"id": "all", "parallel": parts}])
    cli.configure(f"flows: {{build: {{steps: {steps}}}}}")


def run(cli: Cli, script: str, metadata: str = "{}") -> list[dict[str, Any]]:
    """Run the flow to its end; what the script answered, tick by tick."""
    started = cli("flow", "start", "build", "--metadata", metadata, "--json")
    assert (started.code, started.json["status"]) == (0, "completed"), started
    assert cli.events("hook_error") == []
    # Nothing was carried out: the scripts posted every result.
    assert not list(cli.root.glob("ran-*"))
    calls = cli.json("hook", "show", f"on-iteration-start/{script}")["calls"]
    return [call["answer"] for call in reversed(calls)]


def executed(*tasks: str, **more: Any) -> dict[str, Any]:
    """The answer of a script that has executed these."""
    return {"action": "executed-tasks", "count": len(tasks), "tasks": list(tasks), **more}


def posted(cli: Cli) -> list[str]:
    """The effects in the order in which they got their results."""
    return [event["data"]["effectId"] for event in cli.events("effect_resolved")]


def test_sequential_posts_the_first_of_each_tick(cli: Cli) -> None:
    use(cli, [0, 0, 0], "sequential.sh")
    answers = run(cli, "sequential.sh")
    assert answers == [executed("all/p1"), executed("all/p2"), executed("all/p3")]
    assert posted(cli) == ["all/p1", "all/p2", "all/p3"]


def test_parallel_posts_up_to_five_at_once(cli: Cli) -> None:
    use(cli, [0] * 7, "parallel.sh")
    answers = run(cli, "parallel.sh")
    first, second = [f"all/p{n}" for n in range(1, 6)], ["all/p6", "all/p7"]
    assert answers == [executed(*first), executed(*second)]
    assert sorted(posted(cli)[:5]) == first


def test_priority_posts_the_highest_first(cli: Cli) -> None:
    use(cli, [2, 9, 5], "priority.sh")
    answers = run(cli, "priority.sh")
    assert posted(cli) == ["all/p2", "all/p3", "all/p1"]
    assert answers[0] == executed("all/p2", priority=True)


@pytest.mark.torture
def test_rate_limited_waits_between_two(cli: Cli) -> None:
    use(cli, [0, 0], "rate-limited.sh")
    answers = run(cli, "rate-limited.sh")
    assert [answers[0], answers[-1]] == [executed("all/p1"), executed("all/p2")]
    assert {(a["action"], a["reason"]) for a in answers[1:-1]} == {("waiting", "rate-limit")}
    first, second = (
        datetime.fromisoformat(event["timestamp"]) for event in cli.events("effect_resolved")
    )
    # The script counts whole seconds from the one in which it posted.
    assert (second - first).total_seconds() > 4
    assert (cli.root / ".hookline/runs/R-1/.rate-limit").is_file()


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ('{"orchestrationStrategy": "parallel"}', [executed("all/p1", "all/p2")]),
        (
            '{"orchestrationStrategy": "priority"}',
            [executed("all/p2", priority=True), executed("all/p1", priority=True)],
        ),
        ("{}", [executed("all/p1"), executed("all/p2")]),
    ],
)
def test_adaptive_takes_the_strategy_of_the_runs_metadata(
    cli: Cli, strategy: str, expected: list[dict[str, Any]]
) -> None:
    use(cli, [1, 2], "adaptive.sh", "parallel.sh", "priority.sh", "sequential.sh")
    assert run(cli, "adaptive.sh", strategy) == expected
    facts = json.loads((cli.root / ".hookline/runs/R-1/run.json").read_text())
    assert (facts["runId"], facts["flow"]) == ("R-1", "build")
    assert facts["metadata"] == json.loads(strategy)


# Around them


def test_a_script_can_be_tried_by_hand_before_its_run_ticks(cli: Cli) -> None:
    use(cli, [0, 0], "adaptive.sh", "sequential.sh")
    cli.json("flow", "start", "build", "--detach")
    payload = '{"runId": "R-1", "iteration": 1, "timestamp": "2026-01-19T18:00:00Z"}'
    tried = cli("hook", "dispatch", "on-iteration-start", stdin=payload)
    assert tried.json == executed("all/p1")
    assert "[adaptive] Using strategy: sequential" in tried.stderr


def test_every_command_about_a_run_takes_its_folder(cli: Cli) -> None:
    steps = '[{id: a, run: "echo hi"}, {id: b, run: "true"}, {id: ok, breakpoint: "Go?"}]'
    cli.configure(f"flows: {{f: {{steps: {steps}}}}}")
    cli.json("flow", "start", "f", "--detach")
    folder = ".hookline/runs/R-1"
    absolute = str(cli.root / folder) + "/"
    assert cli.json("effect", "list", folder)[0]["effectId"] == "a"
    assert cli.json("effect", "run", absolute, "a")["status"] == "ok"
    assert cli("orchestrate", folder, "--max-iterations", "5", "--json").json["runId"] == "R-1"
    assert cli.json("flow", "status", folder)["runId"] == "R-1"
    assert cli.json("flow", "show", folder)["runId"] == "R-1"
    assert "ok" in cli.json("flow", "graph", folder)["graph"]
    assert cli.json("flow", "value", folder, "n", "3") == 3
    assert cli.json("flow", "journal", absolute)
    assert cli.json("answer", folder, "ok", "yes")["runId"] == "R-1"
    assert cli.json("flow", "resume", folder)["status"] == "completed"
    for other in ("runs/R-1", ".hookline/runs", "/elsewhere/.hookline/runs/R-1"):
        code, error = cli.refused("effect", "list", other)
        assert (code, error["code"]) == (1, "unknown-run")


@pytest.mark.parametrize("verb", ["post", "run"])
def test_under_a_hook_what_was_done_is_told_on_stderr(cli: Cli, verb: str) -> None:
    cli.configure('flows: {f: {steps: [{id: a, run: "echo hi"}]}}')
    cli.json("flow", "start", "f", "--detach")
    options = ("--status", "ok") if verb == "post" else ()
    done = cli("effect", verb, "R-1", "a", *options, env={"HOOKLINE_HOOK": "mine"})
    assert (done.code, done.stdout) == (0, "")
    assert "a" in done.stderr
