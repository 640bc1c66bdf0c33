"""The public types for gates in Python."""

from __future__ import annotations

import pytest

from hookline.domain.hooks.answers import GateAnswer
from hookline.domain.hooks.records import Reply
from hookline.errors import BadInput, HookFailure
from hookline.gates import HookContext, HookPoint, HookResult, HookStatus, hook_context
from hookline.hooks.builtin import GATES
from hookline.hooks.registry import Hook
from hookline.hooks.replies import read_gate

HOOK = Hook(name="mine", points=("before_submit",), target="mine:gate")
PAYLOAD = {
    "task_id": "T-1",
    "task_title": "Greet",
    "task_path": "task.md",
    "task_type": None,
    "branch_name": "hookline/T-1",
    "base_branch": "main",
    "worktree": "/w",
    "agent_name": "ada",
    "commits_count": 2,
    "extra": {"tests": {"command": "pytest -q"}},
}


def test_the_points_are_those_of_gates() -> None:
    assert tuple(HookPoint) == GATES


def test_a_result_is_read_as_a_gate_s_answer() -> None:
    result = HookResult(HookStatus.FAILURE, "too long", {"lines": 9}, "Make it shorter.", 5)
    assert read_gate(Reply(answer=result), HOOK) == GateAnswer(
        status="failure",
        message="too long",
        context={"lines": 9},
        remediation_prompt="Make it shorter.",
        retry_after=5,
    )


@pytest.mark.parametrize("status", HookStatus)
def test_every_status_is_one_that_gates_know(status: HookStatus) -> None:
    assert read_gate(Reply(answer=HookResult(status)), HOOK).status == status.value
    assert read_gate(Reply(answer={"status": status}), HOOK).status == status.value


def test_an_unknown_status_is_a_failure_of_the_hook() -> None:
    with pytest.raises(HookFailure):
        read_gate(Reply(answer=HookResult("fine")), HOOK)  # type: ignore[arg-type]


def test_a_payload_becomes_a_context() -> None:
    work = hook_context(PAYLOAD)
    assert isinstance(work, HookContext)
    assert (work.task_id, work.commits_count) == ("T-1", 2)
    assert work.extra["tests"]["command"] == "pytest -q"
    with pytest.raises(BadInput, match="not the payload of a gate"):
        hook_context({"task_id": "T-1"})
