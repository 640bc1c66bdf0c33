"""Hooks: where each comes from, how often it ran, and a playground for conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRINGS
from hookline.domain.hooks.names import short_name
from hookline.errors import BadInput, HookFailure
from hookline.hooks.calls.settle import point_of
from hookline.hooks.frames import event_payload
from hookline.hooks.history.explain import Explanation
from hookline.hooks.history.metrics import HookStatistics, statistics
from hookline.hooks.language.conditions import condition_holds, needs_changes
from hookline.points import rule_of
from hookline.queries.page.shown import CallRow, Shown, call_row
from hookline.queries.why import why

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Delivery
    from hookline.hooks.registry import Hook
    from hookline.ports.store import View

MOST_CALLS = 50
MAX_CONDITION = 4096
# What a record keeps of the files that a condition looked at, at most.
MOST_KEPT = 20
NOT_ASKED = "changed() asks git, which nothing here does, and this event did not record the files"


class HookRow(Shown):
    """A hook and its figures; `calls` is 0 if it was never called.

    `held_back` is why it may not run. `seq` is its newest call, `error_seq` the newest that failed.
    """

    name: str
    label: str
    points: list[str]
    rule: str
    kind: str
    origin: str
    owner: str | None
    when: str | None
    enabled: bool
    held_back: str | None
    calls: int
    ok: int
    skipped: int
    failed: int
    pending: int
    cut: int
    p50_ms: float
    p95_ms: float
    slow: bool
    last_error: str | None
    error_seq: int | None
    seq: int | None


class HooksPage(Shown):
    """Every hook, in the order in which they are called."""

    seq: int
    hooks: list[HookRow]


class HookPage(Shown):
    """One hook: what it does, its newest calls, and why the last one went as it did."""

    seq: int
    hook: HookRow
    target: str | None
    description: str | None
    timeout: float | None
    pipe_output: bool
    on_failure: str | None
    calls: list[CallRow]
    why: Explanation


class Tried(Shown):
    """What a condition says about a recorded event: true, false, or a problem with its text.

    `recorded` is what the hook's own condition said then; `unknown` are values that only a program
    could tell, which was not asked.
    """

    seq: int
    point: str
    when: str
    result: bool | None
    values: Any
    problem: str | None
    recorded: str | None


def hooks_page(app: App) -> HooksPage:
    """Every hook with its figures, those that were never called included."""
    with app.read() as view:
        figures = {each.name: each for each in statistics(view)}
        rows = [_row(app, view, hook, owner, figures) for owner, hook in _all(app)]
        return HooksPage(seq=view.log.last(), hooks=rows)


def _all(app: App) -> Iterator[tuple[str | None, Hook]]:
    """Every hook in its order, with the agent or type that it is for."""
    yield from ((None, hook) for hook in app.registry.list())
    yield from app.scopes.owned()


def _row(
    app: App, view: View, hook: Hook, owner: str | None, figures: Mapping[str, HookStatistics]
) -> HookRow:
    known = figures.get(hook.name) or HookStatistics(name=hook.name)
    newest = view.calls.calls_of(hook.name, 1)
    failed = next(iter(view.calls.last_failures(hook.name)), None)
    return HookRow(
        name=hook.name,
        label=short_name(hook.name),
        points=list(hook.points),
        rule=rule_of(hook.points[0]),
        kind=hook.kind,
        origin=hook.origin,
        owner=owner,
        when=hook.when,
        enabled=view.switches.all().get(hook.name, hook.enabled),
        held_back=app.suspended.get(hook.name),
        calls=known.calls,
        ok=known.ok,
        skipped=known.skipped,
        failed=known.failed,
        pending=known.pending,
        cut=known.cut,
        p50_ms=known.p50_ms,
        p95_ms=known.p95_ms,
        slow=known.slow,
        last_error=failed.error if failed is not None else None,
        error_seq=failed.event_seq if failed is not None else None,
        seq=newest[0].event_seq if newest else None,
    )


def hook_page(app: App, name: str) -> HookPage:
    """One hook with its newest calls."""
    hook = app.scopes.meant(name)
    owner = ", ".join(owner for owner, each in app.scopes.owned() if each.name == hook.name)
    with app.read() as view:
        figures = {each.name: each for each in statistics(view)}
        calls = view.calls.calls_of(hook.name, MOST_CALLS)
        return HookPage(
            seq=view.log.last(),
            hook=_row(app, view, hook, owner or None, figures),
            target=hook.target or None,
            description=hook.description or None,
            timeout=hook.timeout,
            pipe_output=hook.pipe_output,
            on_failure=hook.on_failure,
            calls=[call_row(view, each) for each in calls],
            why=why(app, view, hook.name),
        )


def call_text(app: App, number: int, part: str) -> str:
    """All that a hook printed: `stdout` or `stderr`, with what was put aside."""
    with app.read() as view:
        call = view.calls.find(number)
    if call is None or part not in ("stdout", "stderr"):
        raise BadInput("there is no such text")
    if part == "stderr":
        return call.stderr or ""
    if call.blob is not None:
        return app.blobs.get(call.blob).decode("utf-8", "replace")
    return call.stdout or ""


# The playground


def try_condition(app: App, when: str, seq: int, name: str | None) -> Tried:
    """What a condition says about a recorded event, from the record alone: no program is run."""
    if len(when) > MAX_CONDITION:
        raise BadInput(f"a condition can have at most {MAX_CONDITION:,} characters")
    with app.read() as view:
        event = view.log.at(seq)
        payload = event_payload(event, view.calls.payload(seq))
        calls = view.calls.deliveries(seq)
    hook = app.scopes.meant(name) if name is not None else None
    call = next((each for each in calls if hook is not None and each.hook == hook.name), None)
    told = Tried(
        seq=seq,
        point=_point(hook, event),
        when=when,
        result=None,
        values=None,
        problem=None,
        recorded=call.status if call is not None else None,
    )
    files = _files(calls)
    if needs_changes(when) and "changed" not in payload:
        if files is None:
            return msgspec.structs.replace(told, problem=NOT_ASKED)
        payload = {**payload, "changed": files}
    try:
        found = condition_holds(when, payload)
    except HookFailure as problem:
        return msgspec.structs.replace(told, problem=problem.message)
    return msgspec.structs.replace(told, result=found.met, values=found.values)


def _point(hook: Hook | None, event: Event) -> str:
    if hook is not None:
        return point_of(hook, event)
    return str(event.data.get("point", event.type)) if event.type in FIRINGS else event.type


def _files(calls: list[Delivery]) -> list[str] | None:
    """The files that had changed, as a condition saw them then; None if that is not all known."""
    for call in calls:
        found = (call.condition_values or {}).get("changed")
        if isinstance(found, list) and len(found) < MOST_KEPT:
            return [each for each in found if isinstance(each, str)]
    return None
