"""How stop hooks decide, and how often their word did not hold: told from the record alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.records import FAILED, OK, TIMEOUT
from hookline.tasks.registrations import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.events import Event
    from hookline.domain.records import Delivery
    from hookline.ports.store import View

STOP = "stop"
# Completed is final, so what undoes a complete comes while the task waits for its gates, or
# because it never got there. A task that is started again was continued or released before.
UNDOING = ("task_needs_continuation", "task_released", "task_blocked", "task_failed")
NEWEST = 1000


class Decision(NamedTuple):
    """What one stop hook said about a task, at a place in the log."""

    hook: str
    seq: int
    task: str | None
    action: str


class StopMetrics(msgspec.Struct, rename="camel", frozen=True):
    """How often a stop hook decided which way, and how many of its completes were undone."""

    name: str
    decisions: int
    complete: int
    go_on: int = msgspec.field(name="continue")
    escalate: int
    complete_percent: float
    continue_percent: float
    escalate_percent: float
    undone: int
    undone_percent: float


def stop_metrics(decisions: Sequence[Decision], events: Iterable[Event]) -> list[StopMetrics]:
    """The figures of each hook, by name.

    A complete is undone when its task came back later, failed or was blocked, or when a stop
    hook later decided otherwise about the same task.
    """
    last = _last_undoing(decisions, events)
    counts: dict[str, Counter[str]] = {}
    for each in decisions:
        count = counts.setdefault(each.hook, Counter())
        count[each.action] += 1
        if each.action == "complete" and each.task and last.get(each.task, 0) > each.seq:
            count["undone"] += 1
    return [_figures(name, counts[name]) for name in sorted(counts)]


def _last_undoing(decisions: Sequence[Decision], events: Iterable[Event]) -> dict[str, int]:
    """For each task, the last place in the log that speaks against its completion."""
    last: dict[str, int] = {}
    against = [(each.task, each.seq) for each in decisions if each.task and not _completes(each)]
    against += [(event.node_id, event.seq) for event in events if event.type in UNDOING]
    for task, seq in against:
        last[task] = max(seq, last.get(task, 0))
    return last


def _completes(decision: Decision) -> bool:
    return decision.action == "complete"


def _figures(name: str, count: Counter[str]) -> StopMetrics:
    made = count["complete"] + count["continue"] + count["escalate"]
    return StopMetrics(
        name=name,
        decisions=made,
        complete=count["complete"],
        go_on=count["continue"],
        escalate=count["escalate"],
        complete_percent=_percent(count["complete"], made),
        continue_percent=_percent(count["continue"], made),
        escalate_percent=_percent(count["escalate"], made),
        undone=count["undone"],
        undone_percent=_percent(count["undone"], count["complete"]),
    )


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def read_metrics(view: View, hooks: Iterable[str]) -> list[StopMetrics]:
    """The figures of those among the hooks that decide, over the newest calls of each.

    Hooks that agents registered, each for one task, are counted together by their type.
    """
    decisions = [each for name in hooks for each in _decisions(view, name)]
    return stop_metrics(decisions, _events(view, decisions))


def _decisions(view: View, hook: str) -> Iterator[Decision]:
    # A hook may stand at other points as well, which are fired about as often.
    if all(row.point != STOP for row in view.calls.calls_of(hook, 10)):
        return
    registered = type_of(view.log, hook)
    name = hook if registered is None else f"registered {registered}"
    for row in view.calls.calls_of(hook, NEWEST):
        action = action_of(row)
        if action is not None:
            yield Decision(name, row.event_seq, _task_of(view, row), action)


def action_of(row: Delivery) -> str | None:
    """What a recorded call decided; a failure escalates, a call that was not made decides nothing.

    A row of another point decides nothing either.
    """
    if row.point != STOP:
        return None
    if row.status in (FAILED, TIMEOUT):
        return "escalate"
    answer: Any = row.answer
    return answer.get("action") if row.status == OK and isinstance(answer, dict) else None


def _task_of(view: View, row: Delivery) -> str | None:
    seen = view.calls.payload(row.event_seq) or {}
    task = seen.get("taskId")
    return task if isinstance(task, str) else None


def _events(view: View, decisions: Sequence[Decision]) -> Iterator[Event]:
    first: dict[str, int] = {}
    for each in decisions:
        if each.task and _completes(each):
            first[each.task] = min(each.seq, first.get(each.task, each.seq))
    for task, seq in first.items():
        yield from view.log.events(node_id=task, types=UNDOING, after=seq)
