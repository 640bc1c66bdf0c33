"""How stop hooks decide in figures, and what counts as a completion that did not hold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hookline.domain.hooks.records import Delivery
from hookline.hooks.history.metrics import StopCall, action_of, stop_metrics
from hookline.testing import event


def figures(decisions: list[StopCall], *events: Any) -> dict[str, Any]:
    found = msgspec.to_builtins(stop_metrics(decisions, events))
    return {each.pop("name"): each for each in found}


def said(seq: int, action: str, *, hook: str = "h", task: str | None = "T-1") -> StopCall:
    return StopCall(hook, seq, task, action)


def undone(decisions: list[StopCall], *events: Any) -> int:
    return int(figures(decisions, *events)["h"]["undone"])


def test_rates_are_counted_for_each_hook() -> None:
    found = figures(
        [
            *(said(n, "continue") for n in range(1, 5)),
            said(5, "escalate"),
            said(6, "complete", task="T-2"),
            said(7, "complete", task="T-3"),
            said(7, "continue", hook="other", task="T-9"),
        ]
    )
    assert found == {
        "h": {
            "decisions": 7,
            "complete": 2,
            "continue": 4,
            "escalate": 1,
            "completePercent": 28.6,
            "continuePercent": 57.1,
            "escalatePercent": 14.3,
            "undone": 0,
            "undonePercent": 0.0,
        },
        "other": {
            "decisions": 1,
            "complete": 0,
            "continue": 1,
            "escalate": 0,
            "completePercent": 0.0,
            "continuePercent": 100.0,
            "escalatePercent": 0.0,
            "undone": 0,
            "undonePercent": 0.0,
        },
    }


@pytest.mark.parametrize(
    "kind", ["task_needs_continuation", "task_released", "task_blocked", "task_failed"]
)
def test_a_task_that_comes_back_undoes_its_completion(kind: str) -> None:
    assert undone([said(5, "complete")], event(kind, "T-1", seq=6)) == 1
    assert undone([said(5, "complete")], event(kind, "T-1", seq=4)) == 0
    assert undone([said(5, "complete")], event(kind, "T-2", seq=6)) == 0


@pytest.mark.parametrize("kind", ["task_submitted", "task_completed", "task_started"])
def test_the_usual_way_of_a_task_undoes_nothing(kind: str) -> None:
    assert undone([said(5, "complete")], event(kind, "T-1", seq=6)) == 0


@pytest.mark.parametrize("later", ["continue", "escalate"])
def test_another_decision_later_undoes_a_completion(later: str) -> None:
    assert undone([said(5, "complete"), said(9, later, hook="other")]) == 1
    assert undone([said(5, "complete"), said(9, later, task="T-2")]) == 0
    assert undone([said(5, "complete"), said(9, "complete")]) == 0


def test_hooks_of_the_same_moment_do_not_undo_each_other() -> None:
    assert undone([said(5, "continue", hook="first"), said(5, "complete")]) == 0


def test_each_completion_is_undone_once() -> None:
    found = figures(
        [said(5, "complete"), said(7, "continue"), said(9, "complete")],
        event("task_needs_continuation", "T-1", seq=6),
        event("task_released", "T-1", seq=6),
    )
    assert (found["h"]["undone"], found["h"]["undonePercent"]) == (1, 50.0)


def test_a_decision_about_no_task_is_counted_and_never_undone() -> None:
    assert undone([said(5, "complete", task=None), said(9, "continue", task=None)]) == 0


@pytest.mark.parametrize(
    ("point", "status", "answer", "expected"),
    [
        ("stop", "ok", {"action": "complete", "reason": "r"}, "complete"),
        ("stop", "failed", None, "escalate"),
        ("stop", "timeout", None, "escalate"),
        ("stop", "skipped", None, None),
        ("stop", "pending", None, None),
        ("on-iteration-start", "ok", {"action": "complete"}, None),
    ],
)
def test_a_row_tells_what_was_decided(
    point: str, status: str, answer: Any, expected: str | None
) -> None:
    row = Delivery(1, 5, "h", point, "command", "hookline.yaml:3", status, 0, answer=answer)
    assert action_of(row) == expected
