"""A flow fires any point: hooks receive what the point promises; what lacks is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml

from hookline.domain import payloads
from hookline.errors import FAILED, USAGE
from hookline.points import POINTS

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FLOW = """\
from hookline import flow
from hookline.domain.runs.model import EffectFailed


@flow
async def fire(ctx, point, payloads):
    said = []
    for payload in payloads:
        try:
            said.append(await ctx.hook(point, payload))
        except EffectFailed as problem:
            said.append(problem.error)
    return said
"""
EVENT = {
    "seq": 3,
    "id": "x",
    "timestamp": "2026-01-19T18:00:00Z",
    "type": "task_ready",
    "nodeId": "T-1",
    "data": {},
    "metadata": {},
}
GATE = {
    "task_id": "T-1",
    "task_title": "ship it",
    "task_path": ".task.md",
    "task_type": None,
    "branch_name": "hookline/T-1",
    "base_branch": "main",
    "worktree": "/",
    "agent_name": "ada",
    "commits_count": 1,
}
RUN = {"runId": "R-9", "flow": "ship", "status": "running"}
EFFECT = {**RUN, "effectId": "e", "step": "s", "kind": "node"}
TICK = {"runId": "R-9", "iteration": 1, "timestamp": "2026-01-19T18:00:00Z"}
# The least that each point takes: without any one of these fields it is refused.
LEAST: dict[str, dict[str, Any]] = {
    "task_created": {"goal": "g", "deliverables": [], "labels": [], "priority": 1},
    "task_ready": {},
    "task_claimed": {"agent": "ada", "token": 1},
    "task_released": {},
    "task_started": {},
    "task_updated": {"changes": {}},
    "task_blocked": {"reason": "no key"},
    "task_unblocked": {"state": "ready"},
    "task_submitted": {},
    "task_needs_continuation": {},
    "task_completed": {},
    "task_failed": {},
    "task_cancelled": {},
    "task_deleted": {"edgesRemoved": 0},
    "dependency_added": {"fromId": "T-1", "toId": "T-2", "edgeType": "depends_on"},
    "dependency_removed": {"edgeId": "E-1", "fromId": "T-1", "toId": "T-2"},
    "dependency_satisfied": {"dependentTaskId": "T-1", "completedTaskId": "T-2"},
    "hook_error": {"hookName": "h", "error": "exited 7", "originalEvent": EVENT},
    "action_error": {"actionType": "log", "error": "no such task", "payload": None},
    "agent_metrics": {
        "goal": "g",
        "labels": [],
        "priority": 1,
        "durationMs": None,
        "deliverables": [],
    },
    "cascade_limit": {"depth": 9, "limit": 8, "eventSeq": 1, "hooks": []},
    "session_start": {"session": "amber"},
    "pre_iteration": {"session": "amber", "iteration": 1},
    "post_iteration": {"session": "amber", "iteration": 1},
    "session_end": {"session": "amber", "outcome": "completed"},
    "on_task_complete": {
        "session": "amber",
        "iteration": 1,
        "taskId": "T-1",
        "taskContent": "ship it",
    },
    "on_error": {"session": "amber", "iteration": 1, "error": "boom"},
    "stop": {"taskId": None, "iteration": 1},
    "before_submit": GATE,
    "after_submit": GATE,
    "before_merge": GATE,
    "after_merge": GATE,
    "on-iteration-start": TICK,
    "on-iteration-end": {**TICK, "status": "waiting"},
    "on-run-start": RUN,
    "on-run-complete": RUN,
    "on-run-fail": RUN,
    "on-effect-start": EFFECT,
    "on-effect-complete": EFFECT,
    "on-breakpoint": EFFECT,
    "pre_tool_use": {"tool": "Bash", "input": {}},
    "permission_request": {"tool": "Bash", "input": {}},
    "post_tool_use": {"tool": "Bash", "input": {}},
    "prompt_submit": {"prompt": "hello"},
}
# What a flow is given of hooks that say nothing, by rule.
ANSWERS: dict[str, dict[str, Any] | list[Any]] = {
    "react": [],
    "feed": {"text": "", "items": []},
    "gate": {"status": "success"},
    "decide": {"action": "complete"},
    "steer": {"action": "none"},
    "guard": {"verdict": "none"},
}


# The same of hooks that exit 1 and say "no".
REJECTED: dict[str, dict[str, Any] | list[Any]] = {
    "react": [],
    "feed": {"text": "exit code 1\nno\n"},
    "gate": {"status": "failure", "hook": "look"},
    "decide": {"action": "continue", "nextPrompt": "no\n"},
    "steer": {"action": "none"},
    "guard": {"verdict": "deny"},
}


def without(payload: dict[str, Any], field: str) -> dict[str, Any]:
    """A payload that lacks one field."""
    return {name: value for name, value in payload.items() if name != field}


def fire(cli: Cli, point: str, *payloads: dict[str, Any]) -> list[Any]:
    """Fire a point from a flow, once with each payload; the answers, or why there is none."""
    given = json.dumps({"point": point, "payloads": payloads})
    run = cli("flow", "start", "fire", "--input", given, "--json").json
    assert run["status"] == "completed", run
    found: list[Any] = run["value"]
    return found


def look_at(cli: Cli, point: str, options: str = "") -> None:
    """A hook that writes down what it receives, and is given every variable of its point."""
    cli.put(".hookline/flows/fire.py", FLOW)
    variables = " ".join(f"{{{{{name}}}}}" for name in POINTS[point].variables)
    place = f"{cli.root}/seen"
    # In one piece: calls of several points may come at once.
    line = f"seen=$(tr -d '\\n'); printf '%s\\n' \"$seen\" >> {place}; : {variables}"
    entry = json.dumps({"name": "look", "command": line})[:-1] + options + "}"
    cli.configure(f"hooks:\n  {point}:\n    - {entry}\n")


def seen(cli: Cli) -> list[dict[str, Any]]:
    """What the hook received."""
    path = cli.root / "seen"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


SAMPLES: dict[Any, Any] = {str: "x", int: 1, bool: True, tuple[str, ...]: []}


def least_of(point: str) -> dict[str, Any]:
    """What a point cannot be fired without: of a new one, a value for each field that it needs."""
    if point in LEAST:
        return LEAST[point]
    fields = msgspec.structs.fields(getattr(payloads, POINTS[point].payload))
    return {each.encode_name: SAMPLES.get(each.type, {}) for each in fields if each.required}


def test_no_point_is_gone() -> None:
    assert len(LEAST) == 44
    assert set(LEAST) <= set(POINTS)


@pytest.mark.examples(10)
@pytest.mark.parametrize("point", POINTS)
def test_a_flow_fires_the_point_and_a_missing_field_is_named(cli: Cli, point: str) -> None:
    look_at(cli, point)
    least = least_of(point)
    answer, *refused = fire(cli, point, least, *(without(least, field) for field in least))
    assert refused == [f"{point} needs `{field}` in its payload" for field in least]
    # Points of runs and ticks fire for this very run as well.
    assert set(cli.calls("look")) == {"ok"}
    of_event = "event_type" in POINTS[point].variables
    shown = [each["event"]["data"] if of_event else each for each in seen(cli)]
    assert [each for each in shown if each.items() >= least.items()]
    assert len(cli.events("point_fired")) == 1
    expected = ANSWERS[POINTS[point].rule]
    if isinstance(expected, dict):
        assert answer.items() >= expected.items()
    else:
        assert answer == expected


@pytest.mark.parametrize("rule", REJECTED)
def test_a_flow_hears_of_hooks_that_fail(cli: Cli, rule: str) -> None:
    point = next(name for name in LEAST if POINTS[name].rule == rule)
    cli.put(".hookline/flows/fire.py", FLOW)
    line = "echo no; exit 1"
    entry = {"name": "look", "command": line, "pipe_output": True}
    cli.configure(yaml.safe_dump({"hooks": {point: [entry]}}))
    [answer] = fire(cli, point, LEAST[point])
    expected = REJECTED[rule]
    if isinstance(expected, dict):
        assert answer.items() >= expected.items()
    else:
        assert answer == expected


def test_check_names_every_missing_field_of_every_point(cli: Cli) -> None:
    lacking = [(point, field) for point, least in LEAST.items() for field in least]
    steps = [
        {"id": f"s{n}", "hook": {"point": point, "payload": without(LEAST[point], field)}}
        for n, (point, field) in enumerate(lacking)
    ]
    cli.configure(f"flows: {{f: {{steps: {json.dumps(steps)}}}}}", trust=False)
    checked = cli("check", "--json")
    assert checked.code == USAGE
    found = [(each["code"], each["message"]) for each in checked.json["problems"]]
    assert found == [
        ("missing-field", f"{point} needs `{field}` in its payload") for point, field in lacking
    ]


def test_check_knows_literals_and_leaves_values_to_the_run(cli: Cli) -> None:
    steps = """
flows:
  f:
    steps:
      - {id: short, hook: stop}
      - {id: odd, hook: {point: no_such_point}}
      - id: both
        parallel:
          - {id: typed, hook: {point: stop, payload: {taskId: T-1, iteration: soon}}}
      - {id: later, hook: {point: stop, payload: {taskId: "{{input.t}}", iteration: "{{input.n}}"}}}
      - {id: mine, hook: {point: disk_full, payload: {any: thing}}}
events: [disk_full]
"""
    cli.configure(steps, trust=False)
    problems = cli("check", "--json").json["problems"]
    assert [(each["code"], each["line"]) for each in problems] == [
        ("missing-field", 6),
        ("missing-field", 6),
        ("unknown-point", 7),
        ("wrong-type", 10),
    ]
    assert "`iteration` does not fit stop: Expected `int`, got `str`" in problems[3]["message"]


def test_values_that_are_known_late_are_refused_late(cli: Cli) -> None:
    cli.configure(
        """
flows:
  f:
    steps:
      - {id: later, hook: {point: stop, payload: {taskId: null, iteration: "{{input.n}}"}}}
"""
    )
    good = cli("flow", "start", "f", "--input", '{"n": 3}', "--json").json
    assert good["status"] == "completed"
    bad = cli("flow", "start", "f", "--input", '{"n": "three"}', "--json")
    assert bad.code == FAILED
    assert bad.json["error"].startswith("later: `iteration` does not fit stop: ")


# Events that a flow fires look to their hooks like events that happened


def test_conditions_see_the_event_and_its_task(cli: Cli) -> None:
    look_at(cli, "task_claimed", ', "when": "event.data.token > 1 and task.goal == \'ship it\'"')
    cli.add("ship it")
    claim = {"agent": "bob", "taskId": "T-1"}
    fire(cli, "task_claimed", {**claim, "token": 1}, {**claim, "token": 2})
    assert cli.calls("look") == ["skipped", "ok"]
    [shown] = seen(cli)
    assert (shown["event"]["type"], shown["event"]["nodeId"]) == ("task_claimed", "T-1")
    assert cli.task("T-1")["state"] == "ready"


def test_what_hooks_ask_for_is_the_flows_to_do(cli: Cli) -> None:
    cli.put(".hookline/flows/fire.py", FLOW)
    asked = {"actions": [{"type": "create_task", "payload": {"goal": "follow up"}}]}
    line = f"echo '{json.dumps(asked)}'"
    cli.configure(f"hooks:\n  task_ready:\n    - {json.dumps({'name': 'ask', 'command': line})}\n")
    [answer] = fire(cli, "task_ready", {})
    assert [each["type"] for each in answer] == ["create_task"]
    assert cli.json("task", "list") == []


@pytest.mark.parametrize(
    "point", ["task_blocked", "session_start", "before_submit", "stop", "pre_tool_use"]
)
def test_a_firing_can_be_repeated_dry(cli: Cli, point: str) -> None:
    look_at(cli, point)
    cli.add("one")
    fire(cli, point, LEAST[point])
    replayed = cli.json(
        "hook", "replay", "look", "--event", str(cli.events("point_fired")[0]["seq"])
    )
    assert (replayed["status"], replayed["same"]) == ("ok", True)
    assert cli.json("hook", "test", "look")["status"] == "ok"
    first, again, third = seen(cli)
    assert first == again == third
    if POINTS[point].rule != "react":
        given = json.dumps(LEAST[point])
        cli.json("hook", "dispatch", point, stdin=given)
        assert cli.json("hook", "test", "look", "--payload", given)["status"] == "ok"
        assert seen(cli)[3:] == [LEAST[point]] * 2


def test_the_gate_of_the_documentation_can_be_fired(cli: Cli) -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    [example] = [block for block in page.split("```") if "nightly:" in block]
    flow = yaml.safe_load(example.removeprefix("yaml"))["flows"]["nightly"]
    steps = [step for step in flow["steps"] if "hook" in step]
    gate = {"name": "look", "command": "echo {{task_id}} >> judged"}
    config = {"hooks": {"before_merge": [gate]}, "flows": {"nightly": {"steps": steps}}}
    cli.configure(yaml.safe_dump(config))
    task = cli.add("tidy up")
    given = json.dumps({"task": task, "goal": "tidy up"})
    run = cli("flow", "start", "nightly", "--input", given, "--json")
    assert (run.code, run.json["status"]) == (0, "completed")
    assert run.json["value"]["judge"]["status"] == "success"
    assert (cli.root / "judged").read_text() == f"{task}\n"
