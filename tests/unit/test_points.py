"""Every hook point is declared whole: its rule, a payload that exists, its variables, its words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hookline.domain import payloads
from hookline.domain.events import REPORTS, STATE_BEARING
from hookline.hooks.builtin import NAMED_BUILTINS, POINT_DEFAULTS, REACT_BUILTINS
from hookline.hooks.rules import RULES
from hookline.points import POINTS, VARIABLES

# Points that hooks rely on, written by hand, so that nobody removes or renames one by accident;
# a new one is seen in the difference of docs/points.md.
DECLARED = {
    "task_created": ("react", True),
    "task_ready": ("react", True),
    "task_claimed": ("react", True),
    "task_released": ("react", True),
    "task_started": ("react", True),
    "task_updated": ("react", True),
    "task_blocked": ("react", True),
    "task_unblocked": ("react", True),
    "task_submitted": ("react", True),
    "task_needs_continuation": ("react", True),
    "task_completed": ("react", True),
    "task_failed": ("react", True),
    "task_cancelled": ("react", True),
    "task_deleted": ("react", True),
    "dependency_added": ("react", True),
    "dependency_removed": ("react", True),
    "dependency_satisfied": ("react", True),
    "hook_error": ("react", True),
    "action_error": ("react", True),
    "agent_metrics": ("react", True),
    "cascade_limit": ("react", True),
    "attention_needed": ("react", True),
    "attention_over": ("react", True),
    "session_start": ("feed", True),
    "pre_iteration": ("feed", True),
    "post_iteration": ("feed", True),
    "session_end": ("feed", True),
    "on_task_complete": ("feed", True),
    "on_error": ("feed", True),
    "stop": ("decide", True),
    "before_submit": ("gate", True),
    "after_submit": ("gate", True),
    "before_merge": ("gate", True),
    "after_merge": ("gate", True),
    "on-iteration-start": ("steer", True),
    "on-iteration-end": ("steer", True),
    "on-run-start": ("react", True),
    "on-run-complete": ("react", True),
    "on-run-fail": ("react", True),
    "on-effect-start": ("react", True),
    "on-effect-complete": ("react", True),
    "on-breakpoint": ("react", True),
    "pre_tool_use": ("guard", False),
    "permission_request": ("guard", False),
    "post_tool_use": ("feed", False),
    "prompt_submit": ("guard", False),
}

each_point = pytest.mark.parametrize("name", POINTS)


def test_the_points_are_these_with_these_rules_and_these_fire() -> None:
    assert {name: (POINTS[name].rule, POINTS[name].fires) for name in DECLARED} == DECLARED


def test_every_rule_has_a_point() -> None:
    assert {point.rule for point in POINTS.values()} == set(RULES)


@each_point
def test_a_point_is_documented_in_a_whole_sentence(name: str) -> None:
    doc = POINTS[name].doc
    assert doc == doc.strip()
    assert doc.endswith(".")
    assert len(doc.split()) >= 4


@each_point
def test_the_payload_of_a_point_is_a_documented_type(name: str) -> None:
    kind = getattr(payloads, POINTS[name].payload)
    assert issubclass(kind, payloads.Payload)
    assert (kind.__doc__ or "").strip().endswith(".")


@each_point
def test_the_variables_of_a_point_exist_and_stand_there_once(name: str) -> None:
    variables = POINTS[name].variables
    assert set(variables) <= set(VARIABLES)
    assert len(set(variables)) == len(variables)
    assert {"point", "hook", "project", "idempotency_key"} <= set(variables)


@each_point
def test_a_point_gives_its_hooks_time(name: str) -> None:
    assert POINTS[name].name == name
    assert POINTS[name].timeout > 0


def test_every_variable_is_documented_and_of_use_somewhere() -> None:
    used = {variable for point in POINTS.values() for variable in point.variables}
    assert used == set(VARIABLES)
    for name, variable in VARIABLES.items():
        assert variable.name == name
        assert variable.doc


def test_the_environment_names_that_scripts_rely_on_are_these() -> None:
    promised = {
        "HOOKLINE_POINT",
        "HOOKLINE_HOOK",
        "HOOKLINE_PROJECT",
        "HOOKLINE_SESSION",
        "HOOKLINE_ITERATION",
        "HOOKLINE_TASK_ID",
        "HOOKLINE_TASK_CONTENT",
        "HOOKLINE_ERROR",
        "HOOKLINE_RUN_ID",
        "HOOKLINE_EVENT_SEQ",
        "HOOKLINE_IDEMPOTENCY_KEY",
    }
    names = [variable.env for variable in VARIABLES.values()]
    assert promised <= set(names)
    assert len(set(names)) == len(names)
    # These steer Hookline itself; a variable of that name would overwrite them.
    assert not {"HOOKLINE_HOME", "HOOKLINE_DIR", "HOOKLINE_DEPTH", "HOOKLINE_CAUSE"} & set(names)


@pytest.mark.parametrize(
    "name",
    ["task_content", "task_title", "task_type", "task_labels", "error", "agent_output", "prompt"],
)
def test_what_people_and_agents_write_is_free_text(name: str) -> None:
    assert VARIABLES[name].free


def test_every_event_that_hookline_writes_is_a_point_that_fires() -> None:
    for name in STATE_BEARING | REPORTS | {"dependency_satisfied", "agent_metrics"}:
        assert (POINTS[name].rule, POINTS[name].fires) == ("react", True)


def test_built_ins_stand_at_points_that_exist() -> None:
    for points in (*REACT_BUILTINS.values(), *NAMED_BUILTINS.values()):
        assert set(points) <= set(POINTS)
    for point, defaults in POINT_DEFAULTS.items():
        assert all(point in NAMED_BUILTINS[name] for name in defaults)


# The fields that subscribers of the first eight events rely on, as they stand on the wire.
WIRE: dict[str, dict[str, Any]] = {
    "task_created": {"goal": "g", "deliverables": ["d"], "labels": ["l"], "priority": 0},
    "task_started": {"context": {"any": "thing"}},
    "task_completed": {"result": "fine", "artifacts": ["a"]},
    "task_blocked": {"reason": "r", "requiredKnowledge": ["k"]},
    "task_deleted": {"edgesRemoved": 2},
    "dependency_added": {"fromId": "T-2", "toId": "T-1", "edgeType": "depends_on"},
    "dependency_removed": {"edgeId": "e", "fromId": "T-2", "toId": "T-1"},
    "dependency_satisfied": {"dependentTaskId": "T-2", "completedTaskId": "T-1"},
    "action_error": {"actionType": "log", "error": "no", "payload": {"a": 1}},
    "agent_metrics": {
        "goal": "g",
        "labels": ["agent"],
        "priority": 1,
        "durationMs": 9_000_000,
        "deliverables": [],
    },
}


@pytest.mark.parametrize("name", WIRE)
def test_payloads_travel_in_camel_case_and_whole(name: str) -> None:
    kind = getattr(payloads, POINTS[name].payload)
    read = msgspec.convert(WIRE[name], kind)
    assert msgspec.json.decode(msgspec.json.encode(read)) == WIRE[name]
    assert set(kind.__struct_encode_fields__) == set(WIRE[name])


def test_a_gates_payload_keeps_the_names_that_gate_authors_know() -> None:
    assert payloads.GateContext.__struct_encode_fields__ == (
        *("task_id", "task_title", "task_path", "task_type", "branch_name", "base_branch"),
        *("worktree", "agent_name", "commits_count", "extra"),
    )
