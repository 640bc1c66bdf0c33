"""How often hooks ran and how long they took; how stop hooks decide, and whether that held.

All of it comes from the record alone.
"""

from __future__ import annotations

from collections import Counter
from statistics import quantiles
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.domain.hooks.answers import StopDecision, stored_answer
from hookline.domain.hooks.records import FAILED, OK, QUEUED, TIMEOUT, Delivery
from hookline.points import POINTS, REACT
from hookline.tasks.registrations import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.events import Event
    from hookline.ports.store import View

STOP, COMPLETE = "stop", "complete"
# Completed is final, so what undoes a complete comes while the task waits for its gates, or
# because it never got there. A task that is started again was continued or released before.
UNDOING = ("task_needs_continuation", "task_released", "task_blocked", "task_failed")
NEWEST = 1000
# A command waits for the hooks of its events; what gates and sessions wait for takes its time.
SLOW_HOOK_US = 1_000_000
SLOW_EVENT_US = 2_000_000
TAKE_TIME = tuple(point.name for point in POINTS.values() if point.rule != REACT)
COUNTED = ("ok", "skipped", "failed", "pending", "cut")
_AS = {QUEUED: "pending"}


class StopCall(NamedTuple):
    """What one stop hook said about a task, at a position in the log."""

    hook: str
    seq: int
    task: str | None
    action: str


class StopMetrics(msgspec.Struct, rename="camel", frozen=True):
    """How often a stop hook decided which way, and how many of its completes were undone."""

    name: str
    decisions: int
    complete: int
    continued: int = msgspec.field(name="continue")
    escalate: int
    complete_percent: float
    continue_percent: float
    escalate_percent: float
    undone: int
    undone_percent: float


def stop_metrics(decisions: Sequence[StopCall], events: Iterable[Event]) -> list[StopMetrics]:
    """The figures of each hook, by name.

    A complete is undone when its task came back later, failed or was blocked, or when a stop
    hook later decided otherwise about the same task.
    """
    last = _last_undoing(decisions, events)
    counts: dict[str, Counter[str]] = {}
    for each in decisions:
        count = counts.setdefault(each.hook, Counter())
        count[each.action] += 1
        if each.action == COMPLETE and each.task and last.get(each.task, 0) > each.seq:
            count["undone"] += 1
    return [_figures(name, counts[name]) for name in sorted(counts)]


def _last_undoing(decisions: Sequence[StopCall], events: Iterable[Event]) -> dict[str, int]:
    """For each task, the last event that undoes its completion."""
    last: dict[str, int] = {}
    against = [(each.task, each.seq) for each in decisions if each.task and each.action != COMPLETE]
    against += [(event.node_id, event.seq) for event in events if event.type in UNDOING]
    for task, seq in against:
        last[task] = max(seq, last.get(task, 0))
    return last


def _figures(name: str, count: Counter[str]) -> StopMetrics:
    made = count["complete"] + count["continue"] + count["escalate"]
    return StopMetrics(
        name=name,
        decisions=made,
        complete=count["complete"],
        continued=count["continue"],
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


def _decisions(view: View, hook: str) -> Iterator[StopCall]:
    # A hook can be at other points as well, which are fired about as often.
    if all(row.point != STOP for row in view.calls.calls_of(hook, 10)):
        return
    registered = type_of(view.log, hook)
    name = hook if registered is None else f"registered {registered}"
    for row in view.calls.calls_of(hook, NEWEST):
        if (action := action_of(row)) is not None:
            task = (view.calls.payload(row.event_seq) or {}).get("taskId")
            yield StopCall(name, row.event_seq, task if isinstance(task, str) else None, action)


def action_of(row: Delivery) -> str | None:
    """What a recorded call decided; a failure escalates, a call that was not made decides nothing.

    A row of another point decides nothing either.
    """
    if row.point != STOP:
        return None
    if row.status in (FAILED, TIMEOUT):
        return "escalate"
    decision = stored_answer(row.answer, StopDecision) if row.status == OK else None
    return decision.action if decision else None


def _events(view: View, decisions: Sequence[StopCall]) -> Iterator[Event]:
    first: dict[str, int] = {}
    for each in decisions:
        if each.task and each.action == COMPLETE:
            first[each.task] = min(each.seq, first.get(each.task, each.seq))
    for task, seq in first.items():
        yield from view.log.events(node_id=task, types=UNDOING, after=seq)


# All hooks.


class HookStatistics(msgspec.Struct, rename="camel", kw_only=True):
    """How often one hook was called and with which ends, and how long it took."""

    name: str
    calls: int = 0
    ok: int = 0
    skipped: int = 0
    failed: int = 0
    pending: int = 0
    cut: int = 0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    slow: bool = False


def statistics(view: View) -> list[HookStatistics]:
    """How often each hook ran, was skipped and failed, and how long it took."""
    counts: dict[str, Counter[str]] = {}
    durations: dict[str, list[int]] = {}
    for name, status, count, took in view.calls.statistics():
        ended = status if status in COUNTED else _AS.get(status, "failed")
        counts.setdefault(name, Counter())[ended] += count
        durations.setdefault(name, []).extend(() if status in ("skipped", "cut") else took)
    return [_hook_figures(view, name, counts[name], durations[name]) for name in sorted(counts)]


def _hook_figures(view: View, name: str, count: Counter[str], took: list[int]) -> HookStatistics:
    p50, p95 = _percentiles(took)
    return HookStatistics(
        name=name,
        calls=count.total(),
        p50_ms=p50 / 1000,
        p95_ms=p95 / 1000,
        slow=p95 > SLOW_HOOK_US and view.calls.calls_of(name, 1)[0].point not in TAKE_TIME,
        **{ended: count[ended] for ended in COUNTED},
    )


def seconds(microseconds: int) -> str:
    """A bound as people read it."""
    return f"{microseconds / 1_000_000:g} s"


def _percentiles(values: list[int]) -> tuple[float, float]:
    if len(values) < 2:
        only = float(values[0]) if values else 0.0
        return only, only
    cuts = quantiles(values, n=20, method="inclusive")
    return cuts[9], cuts[18]
