"""The native steering hooks, and the answers that steering refuses."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hookline.domain.hooks.records import FAILED, OK, Outcome
from hookline.domain.runs.model import JournalEffect
from hookline.errors import BadInput
from hookline.flows.builtin_steering import RunIteration, native_finalization, native_orchestrator
from hookline.flows.steering import END, START, STEER_RULES, check_answer
from hookline.hooks.registry import Hook

PAYLOAD = {"runId": "R-1", "iteration": 5, "timestamp": "2026-01-19T18:00:00Z"}


def effect(name: str, kind: str = "node", **fields: Any) -> JournalEffect:
    """A pending effect."""
    given: dict[str, Any] = {
        **dict.fromkeys(JournalEffect.__struct_fields__),
        "effect_id": name,
        "step": name,
        "kind": kind,
        "status": "pending",
        "args": {},
        "metadata": {},
        "policy": {},
        "attempts": 0,
        "chosen": 0,
    }
    return JournalEffect(**{**given, **fields})


def decide(*pending: JournalEffect, running: frozenset[str] = frozenset(), **more: Any) -> Any:
    iteration = RunIteration(list(pending), running, "waiting", time.time())
    return native_orchestrator({**PAYLOAD, **more}, iteration)


def test_everything_that_can_run_runs() -> None:
    answer = decide(effect("a"), effect("b", "agent"), effect("ok", "breakpoint"))
    assert answer == {"action": "executed-tasks", "count": 2, "tasks": ["a", "b"]}


def test_what_runs_waits_or_was_put_off_is_left_out() -> None:
    later = effect("later", next_try=time.time() + 60)
    bound = effect("bound", "task", task=7)
    answer = decide(effect("a"), later, bound, running=frozenset({"a"}))
    assert answer == {
        "action": "waiting",
        "reason": "waits for another try of node 'later', task 'bound'",
    }


def test_nothing_to_do_is_no_answer() -> None:
    assert decide()["action"] == "none"


def test_tasks_that_were_passed_on_run_in_their_order_and_no_others() -> None:
    answer = decide(effect("a"), effect("b"), effect("c"), tasks=["c", "gone", "a"])
    assert answer["tasks"] == ["c", "a"]
    assert decide(effect("a"), tasks=[])["action"] == "waiting"


@pytest.mark.parametrize(
    ("status", "more"), [("waiting", True), ("completed", False), ("failed", False)]
)
def test_the_run_goes_on_until_it_is_over(status: str, more: bool) -> None:
    iteration = RunIteration([effect("a"), effect("b")], frozenset(), status, time.time())
    assert native_finalization({**PAYLOAD, "status": status}, iteration) == {
        "iteration": 5,
        "finalStatus": status,
        "pendingEffects": 2,
        "needsMoreIterations": more,
    }


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "executed-tasks", "count": 1, "tasks": ["a"]},
        {"action": "waiting", "reason": "sleep"},
        {"action": "waiting", "waitSeconds": 2.5},
        {"action": "none", "tasks": None},
        {"action": "custom", "message": "anything"},
        {"action": "schedule", "executeAt": "2026-01-19T20:00:00Z", "tasks": ["a"]},
    ],
)
def test_answers_of_the_contract_are_accepted(answer: dict[str, Any]) -> None:
    check_answer(START, answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "no `action`"),
        ({"action": 5}, "no `action`"),
        ({"action": "pass", "tasks": [1]}, "list of effect ids"),
        ({"action": "waiting", "waitSeconds": True}, "number of seconds"),
        ({"action": "waiting", "waitSeconds": float("nan")}, "number of seconds"),
        ({"action": "waiting", "waitSeconds": float("inf")}, "number of seconds"),
        ({"action": "schedule", "executeAt": 5}, "executeAt"),
    ],
)
def test_answers_that_cannot_be_acted_on_are_refused(answer: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_answer(START, answer)


def test_at_the_end_only_a_word_about_more_iterations_counts() -> None:
    check_answer(END, {"action": "custom"})
    with pytest.raises(BadInput, match="true or false"):
        check_answer(END, {"needsMoreIterations": 1})
    rule, hook = STEER_RULES[END], Hook(name="h", points=(END,), kind="script", target="h")
    assert rule.stops is not None
    assert not rule.stops(Outcome("h", OK, {"action": "custom"}))
    assert not rule.stops(Outcome("h", FAILED))
    last = Outcome("h", OK, {"action": "none", "needsMoreIterations": False})
    assert rule.stops(last)
    assert rule.fold([(hook, Outcome("h", FAILED)), (hook, last)]) == last.answer
    assert rule.fold([(hook, Outcome("h", FAILED))]) == {}
