"""Inside the transaction that caused an event: built-ins run, all other calls are recorded."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import ALSO_FIRED, FIRED, FIRINGS, RUN_POINTS, SESSION_POINTS, TOLD
from hookline.domain.hooks.records import FAILED, OK, QUEUED, SKIPPED, Outcome, StoredAction
from hookline.domain.tasks import Task, is_task_id
from hookline.errors import HooklineError
from hookline.hooks.actions import StartFlow, perform, unknown_flow
from hookline.hooks.builtin import notifies
from hookline.hooks.builtin.lifecycle import promote_stranded
from hookline.hooks.calls.rows import bounded, caused_by, new_row, write
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.domain.events import Event
    from hookline.domain.payloads import Payload
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.hooks.registry import Hook, HookRegistry
    from hookline.hooks.scopes import HookScopes
    from hookline.ports.store import GraphView, Transaction

DEPTH_LIMIT = 8
MAKES_READY = "check-dependency-satisfaction"
CASCADE_LIMIT = "cascade_limit"


def _nobody(tx: Transaction, event: Event) -> None:
    """No other code watches events inside their transaction."""


class Settling(Immutable):
    """What settling needs to know.

    `suspended` names hooks that may not run now, each with the reason that is recorded.
    `owner` is this process as a holder of leases: only it can call functions registered in it.
    `start_flow` starts a run for a hook, `watch` sees each event inside its transaction.
    """

    scopes: HookScopes
    suspended: Mapping[str, str]
    owner: str
    depth_limit: int = DEPTH_LIMIT
    start_flow: StartFlow = unknown_flow
    watch: Callable[[Transaction, Event], None] = _nobody


def settle(tx: Transaction, how: Settling) -> None:
    """Settle the hooks of every event of a transaction, including events that they cause."""
    switches = tx.switches.all()
    tx.missed = tx.missed or not makes_ready(how.scopes.registry, switches)
    for event in tx.events:  # those that are appended meanwhile included
        how.watch(tx, event)
        if event.type in SESSION_POINTS:
            _tell_sessions(tx, how.scopes, event, SESSION_POINTS[event.type])
        found = _subscribers(tx, how.scopes, event)
        hooks = [hook for hook in found if switches.get(hook.name, hook.enabled)]
        depth = event.metadata.get("depth", 0)
        if hooks and depth > how.depth_limit and event.type != CASCADE_LIMIT:
            _cut(tx, event, hooks, how.depth_limit)
            hooks = [hook for hook in hooks if hook.kind == "built-in"]
            _settle_event(tx, event, hooks, how)
        elif hooks and depth <= how.depth_limit + 1:
            _settle_event(tx, event, hooks, how)


def prepare(tx: Transaction, registry: HookRegistry, subject: object) -> None:
    """Before a verb: ask for the task that it is about, if any, and catch up."""
    if isinstance(subject, str) and is_task_id(subject):
        tx.expect(subject)
    _promote_missed(tx, registry)


def _promote_missed(tx: Transaction, registry: HookRegistry) -> None:
    """Do what check-dependency-satisfaction missed while it was off."""
    if not tx.missed or not makes_ready(registry, tx.switches.all()):
        return
    base = tx.metadata
    tx.metadata = {**base, "hook": MAKES_READY}
    for action in promote_stranded(tx.graph, tx.graph.stranded()):
        perform(tx, action)
    tx.metadata, tx.missed = base, False


def makes_ready(registry: HookRegistry, switches: Mapping[str, bool]) -> bool:
    """Whether the hook is on that makes tasks ready."""
    hook = registry.find(MAKES_READY)
    return hook is not None and switches.get(MAKES_READY, hook.enabled)


def point_of(hook: Hook, event: Event) -> str:
    """The point at which an event calls a hook: its own type, or one that it fires besides."""
    if event.type in hook.points:
        return event.type
    if event.type in FIRINGS:
        return str(event.data.get("point", event.type))
    return ALSO_FIRED.get(event.type, event.type)


def _subscribers(tx: Transaction, scopes: HookScopes, event: Event) -> Sequence[Hook]:
    """The hooks of an event's type and of the point that it fires besides, in order."""
    own = scopes.registry.subscribers(event.type)
    if told := _told(event):
        return _hooks_told(tx, scopes, event, tx.runs.find(told), event.data["point"])
    more = scopes.registry.subscribers(RUN_POINTS[event.type]) if _is_of_run(event) else ()
    if not more or not _fires(tx, event):
        return own
    return sorted({h.name: h for h in (*own, *more)}.values(), key=lambda each: each.order)


def _tell_sessions(tx: Transaction, scopes: HookScopes, event: Event, point: str) -> None:
    """Fire the point of a task's end for each session concerned, with its own hooks."""
    if not scopes.all_hooks_at(point):
        return
    for run in sessions_to_tell(tx, event):
        if _hooks_told(tx, scopes, event, run, point):
            name = f"{run.run_id}/{event.seq}"
            data = {"point": point, "name": name, TOLD: run.run_id}
            tx.append(FIRED, event.node_id, data, metadata=event.metadata)


def _told(event: Event) -> str | None:
    """The run of the session that an event about a task's end goes to."""
    return event.data.get(TOLD) if event.type == FIRED else None


def _hooks_told(
    tx: Transaction, scopes: HookScopes, event: Event, run: Run, point: str
) -> Sequence[Hook]:
    """The hooks at the end of a task for one session: those of its agent come first."""
    task = task_of(tx.graph, event.node_id)
    kind = task.type if task else None
    return scopes.hooks_at(point, agent=run.input.get("agent"), task_type=kind)


def _is_of_run(event: Event) -> bool:
    return event.type in RUN_POINTS and event.node_id.startswith("R-")


def _fires(tx: Transaction, event: Event) -> bool:
    if event.type == "effect_requested":
        return bool(event.data["kind"] == "breakpoint")
    if event.type == "effect_resolved":
        from hookline.domain.runs.model import INSTANT  # commands on tasks do without runs

        _, effect = _effect_of(tx, event)
        return effect.kind not in INSTANT
    return True


def sessions_to_tell(tx: Transaction, event: Event) -> list[Run]:
    """The sessions that get a task's end: its own, else the claim's, else every live one."""
    from hookline.domain.sessions.model import (  # commands on tasks do without sessions
        LIVE,
        STANDING,
    )

    live = [tx.runs.find(each) for each in tx.sessions.live()]
    live = [run for run in live if tx.runs.value(run.run_id, STANDING) == LIVE]
    origin = event.metadata.get("run")
    own = [run for run in live if run.run_id == origin]
    if own or (origin and tx.runs.value(origin, STANDING) is not None):
        return own  # what a session does itself, even at its end, is not reported to it
    return [run for run in live if run.input.get("taskId") == event.node_id] or live


def note_start(tx: Transaction, registry: HookRegistry, run: Run, effect: JournalEffect) -> None:
    """Record that an attempt at an effect starts, if a hook listens to that."""
    if registry.subscribers(RUN_POINTS["effect_started"]):
        details = {"chapter": run.chapter, "effectId": effect.effect_id}
        tx.append("effect_started", run.run_id, {**details, "attempt": effect.attempts + 1})


def _frozen(tx: Transaction, event: Event) -> dict[str, Any]:
    """What the hooks of an event see besides it, as it is now."""
    task = task_of(tx.graph, event.node_id)
    seen: dict[str, Any] = {"task": msgspec.to_builtins(task) if task else None}
    told = _told(event)
    if (told and task) or _is_of_run(event):
        seen |= msgspec.to_builtins(_notice(tx, event, tx.runs.find(told or event.node_id), task))
    return seen


def _notice(tx: Transaction, event: Event, run: Run, task: Task | None) -> Payload:
    """What hooks see of a run: of the session that is told about a task, or of its own events."""
    from hookline.domain import payloads  # commands on tasks do without runs

    if _told(event) and task is not None:
        return payloads.TaskDone(
            session=str(run.input.get("name", run.run_id)),
            iteration=(run.state or {}).get("iteration", 1),
            agent=run.input.get("agent") or "",
            task_id=task.id,
            task_content=task.goal,
        )
    about = {"run_id": run.run_id, "flow": run.flow}
    if event.type.startswith("run_"):
        return payloads.RunNotice(**about, status=run.status, error=run.error)
    _, effect = _effect_of(tx, event)
    started = event.type == "effect_started"
    return payloads.EffectNotice(
        **about,
        effect_id=effect.effect_id,
        step=effect.step,
        kind=effect.kind,
        status="running" if started else event.data.get("status", effect.status),
        metadata=effect.metadata,
        error=event.data.get("error"),
        question=effect.args.get("question"),
    )


def _effect_of(tx: Transaction, event: Event) -> tuple[Run, JournalEffect]:
    run = tx.runs.find(event.node_id)
    then = msgspec.structs.replace(run, chapter=event.data["chapter"])
    return run, tx.runs.effect(then, event.data["effectId"])


def _settle_event(tx: Transaction, event: Event, hooks: list[Hook], how: Settling) -> None:
    frozen = _frozen(tx, event)
    tx.calls.freeze(event.seq, frozen)
    wanted: list[StoredAction] = []
    waiting: list[Hook] = []
    payload: dict[str, Any] = {}
    for position, hook in enumerate(hooks):
        point = point_of(hook, event)
        if hook.kind == "built-in" and not notifies(hook):
            row = new_row(event, hook, point, position, attempts=1, started_at=tx.now)
            outcome = run_builtin(hook, event, tx.graph)
            wanted += [StoredAction(hook.name, *each) for each in enumerate(outcome.answer or ())]
        else:
            row = new_row(event, hook, point, position)
            if hook.when is not None and not payload:
                from hookline.hooks.frames import event_payload  # only conditions look at it here

                payload = event_payload(event, frozen)
            found = _over_already(hook, payload, how)
            if not isinstance(found, Outcome):
                row = msgspec.structs.replace(row, condition_values=found)
                if notifies(hook):
                    row = msgspec.structs.replace(row, status=QUEUED)
                    tx.outbox.put(tx.calls.add_numbered(row), hook.name)
                else:
                    tx.calls.add(row)
                    waiting.append(hook)
                continue
            outcome = found
        write(tx, event, row, outcome, outcome.answer or ())
    if waiting:
        local = any(hook.handler is not None for hook in waiting)
        tx.dispatches.open(event.seq, event.node_id, how.owner if local else None)
    for each in wanted:
        carry_out(tx, event, each, how.start_flow)


def _over_already(
    hook: Hook, payload: dict[str, Any], how: Settling
) -> Outcome | dict[str, Any] | None:
    """Why a hook is not called at all, or the values with which its condition holds.

    A condition that asks git cannot be evaluated here: None, as without any condition.
    """
    # What people are to be told waits until its hook may run again.
    if (reason := how.suspended.get(hook.name)) is not None and not notifies(hook):
        return Outcome(hook.name, SKIPPED, None, reason)
    if hook.when is None:
        return None
    # Only hooks with a condition pay for the language of conditions.
    from hookline.hooks.language.conditions import held_back, needs_changes

    if needs_changes(hook.when):
        return None
    found = held_back(hook.name, hook.when, payload)
    return found if isinstance(found, Outcome) else found.values


def run_builtin(hook: Hook, event: Event, graph: Any) -> Outcome:
    """Call a built-in hook, which is a function of an event and the graph."""
    start = perf_counter_ns()
    try:
        actions = hook.handler(event, graph)
    except HooklineError as problem:
        return Outcome(hook.name, FAILED, None, problem.message)
    return Outcome(hook.name, OK, actions, None, (perf_counter_ns() - start) // 1000)


def carry_out(
    tx: Transaction, event: Event, wanted: StoredAction, start_flow: StartFlow = unknown_flow
) -> None:
    """Carry out one action and mark it as done, or as failed with an `action_error` event."""
    base, action, error = tx.metadata, wanted.action, None
    tx.metadata = caused_by(base, event, wanted.hook)
    try:
        try:
            with tx.nested():
                perform(tx, action, start_flow)
        except HooklineError as problem:
            error = problem.message
        tx.calls.finish_action(event.seq, wanted.hook, wanted.position, error=error)
        if error is not None:
            payload = bounded(action.payload)
            data = {"actionType": action.type, "error": error, "payload": payload}
            tx.append("action_error", "system", data)
    finally:
        tx.metadata = base


def _cut(tx: Transaction, event: Event, hooks: list[Hook], limit: int) -> None:
    depth = event.metadata["depth"]
    # Built-ins are pure and always end, so they are never cut.
    names = [hook.name for hook in hooks if hook.kind != "built-in"]
    if depth > limit + 1 or not names:
        return  # what a hook on cascade_limit itself causes is not reported again
    data = {"depth": depth, "limit": limit, "eventSeq": event.seq, "hooks": names}
    tx.append(CASCADE_LIMIT, event.node_id, data, metadata={"cause": event.seq, "depth": depth})
    told = f"a chain of hooks was cut at depth {limit}, so it was not called"
    tx.calls.complain(event.seq, names[0], CASCADE_LIMIT, told)


def task_of(graph: GraphView, node_id: str) -> Task | None:
    """The task that a node is, or None for a node of another kind."""
    return graph.find(node_id) if is_task_id(node_id) else None
