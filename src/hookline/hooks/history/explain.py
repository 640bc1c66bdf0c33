"""Why something happened or did not, explained from the record alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import FIRED, RUN_EVENTS, STEERED, Event
from hookline.domain.hooks.answers import StopDecision, stored_answer
from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import (
    CUT,
    DEAD,
    FAILED,
    OK,
    PENDING,
    QUEUED,
    SKIPPED,
    TIMEOUT,
    Delivery,
)
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.tasks import SETTLED, Task, shown_state
from hookline.domain.text.display import shortened
from hookline.hooks.gates.verdicts import run_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.hooks.registry import Hook
    from hookline.ports.store import View

    # Whether a living process has a lease: its owner, and until when.
    IsHeld = Callable[[str | None, float], bool]
    # What a call waits for that is not sent yet, and until when.
    WaitsFor = Callable[[Delivery], tuple[str, str]]


class ExplainedStep(msgspec.Struct, rename="camel"):
    """One line of an explanation: the place, what it is, and the result."""

    where: str
    what: str
    result: str
    detail: str = ""


class FailedCheck(msgspec.Struct, rename="camel"):
    """A validation rule that failed before a stop hook was asked, and the end of what it said."""

    rule_name: str
    message: str | None = None
    passed: bool = False


class Explanation(msgspec.Struct, rename="camel"):
    """An answer to "why?": one sentence, the steps that led there, and what to type next."""

    subject: str
    verdict: str
    steps: list[ExplainedStep] = []
    failed_checks: list[FailedCheck] = []
    output: str = ""
    hint: str = ""
    next: str = ""


_SAID = {
    OK: "ran",
    SKIPPED: "did not run",
    FAILED: "failed",
    TIMEOUT: "timed out",
    DEAD: "was given up",
    PENDING: "has not run yet",
    QUEUED: "has not been sent yet",
    CUT: "was interrupted",
}
_HINTS = {
    TIMEOUT: "give it more time with `timeout:`, or make it faster",
    DEAD: "it failed or was killed each time; run it again with `hook replay`",
}
# Every event that has calls has a payload, until a person prunes.
_PRUNED = ExplainedStep("", "details", "pruned", "what its hooks saw and printed is gone")
# What changes the status of a run.
_RUN_TURNS = sorted(RUN_EVENTS - {"effect_requested", "effect_resolved", "run_chapter"})
# Ran to their end, or were ended by Hookline itself.
_OVER = frozenset({OK, FAILED, TIMEOUT, DEAD})


def explain_hook(
    view: View,
    hook: Hook | None,
    name: str,
    switch: bool | None,
    is_held: IsHeld,
    waits_for: WaitsFor,
) -> Explanation:
    """Why a hook did what it did when it was last called."""
    calls = view.calls.calls_of(name, 1)
    if calls:
        event = view.log.find(calls[0].event_seq)
        assert event is not None  # a call is written with its event
        told = explain_call(view, calls[0], event, is_held)
        if calls[0].status == QUEUED:
            told.steps.append(ExplainedStep("", "waits for", *waits_for(calls[0])))
        if hook is None:
            told.next = ""  # it was registered by a program, and only there can it run again
        return told
    points = ", ".join(hook.points) if hook else "its point"
    return Explanation(
        subject=name,
        verdict=f"{short_name(name)} was never called",
        steps=_switch_steps(hook, switch),
        hint=f"it is called at {points}",
        next=f"hookline hook test {_quoted(name)}",
    )


def explain_call(view: View, call: Delivery, event: Event, is_held: IsHeld) -> Explanation:
    """Why one call of a hook went as it did."""
    where = f"event {event.seq} ({event.type}, {event.node_id})"
    said = _said(view, call, event, is_held)
    steps = [ExplainedStep(call.origin, call.point, "matched")]
    if call.condition:
        steps.append(_condition_step(call))
    if call.status in _OVER:
        steps.append(_run_step(call))
        steps += _decision_steps(call)
    is_held_back = call.status == SKIPPED and bool(call.error)
    if call.status in (SKIPPED, PENDING) and call.error:
        steps.append(ExplainedStep(call.origin, "held back", "yes", call.error))
    steps += _action_steps(view, call, "action ")
    is_pruned = view.calls.payload(event.seq) is None
    steps += [_PRUNED] if is_pruned else []
    can_run_again = not is_held_back and not is_pruned
    return Explanation(
        subject=call.hook,
        verdict=f"{short_name(call.hook)} {said} at {where}",
        steps=steps,
        failed_checks=_failed_checks(view, [call]),
        output="\n".join(part for part in (call.stdout, call.stderr) if part),
        hint=_again(view, event) if said == _SAID[CUT] else _hint(call),
        next=_replay(call) if can_run_again else f"hookline hook show {_quoted(call.hook)}",
    )


def _said(view: View, call: Delivery, event: Event, is_held: IsHeld) -> str:
    """How a call went; if it has started, whether a process is still making it."""
    if not call.is_begun:
        return _SAID[call.status]
    if event.type in (FIRED, STEERED):
        run = run_of(event)
        holder, _, until = view.runs.leases.holder(run) if run else (None, 0, 0.0)
    else:
        holder, until = view.dispatches.holder(event.node_id)
    return "is being called" if is_held(holder, until) else _SAID[CUT]


def _again(view: View, event: Event) -> str:
    """What calls a hook again after its call was interrupted."""
    if event.type not in (FIRED, STEERED):
        return "the next command that writes will call it again"
    run = run_of(event)
    if run is None:
        return ""
    is_session = view.runs.find(run).flow == SESSION
    return f"it will be called again when {'its session' if is_session else run} resumes"


def explain_event(view: View, event: Event, is_held: IsHeld, waits_for: WaitsFor) -> Explanation:
    """What caused an event, and what its hooks did."""
    steps = [_cause_step(view, event)]
    calls = view.calls.deliveries(event.seq)
    for call in calls:
        said = _said(view, call, event, is_held)
        why = ", ".join(waits_for(call)) if call.status == QUEUED else _why(call)
        steps.append(ExplainedStep(call.origin, f"hook {short_name(call.hook)}", said, why))
        steps += _action_steps(view, call, "  ")
    is_pruned = bool(calls) and view.calls.payload(event.seq) is None
    steps += [_PRUNED] if is_pruned else []
    done = sum(call.status == OK for call in calls)
    ran = f"{done} of {len(calls)} hooks ran" if calls else "no hook subscribes to it"
    failed = next((c for c in calls if c.status in (FAILED, TIMEOUT, DEAD)), None)
    return Explanation(
        subject=f"event {event.seq}",
        verdict=f"{event.type} of {event.node_id} at {event.timestamp}: {ran}",
        steps=steps,
        failed_checks=_failed_checks(view, calls),
        hint=f"{short_name(failed.hook)}: {failed.error}" if failed else "",
        next=_replay(failed) if failed and not is_pruned else "",
    )


def explain_task(
    view: View, task: Task, gates: Sequence[ExplainedStep], waits: tuple[str, str] | None = None
) -> Explanation:
    """Why a task is in the state it is in; `waits` is why it stays there, and what to type.

    `gates` are what was said when its work was last checked.
    """
    steps = []
    for edge in view.graph.edges_from(task.id, "depends_on"):
        target = view.graph.task(edge.to_id)
        met = "met" if target.state in SETTLED else "unmet"
        about = f"{shown_state(target.state)}: {target.goal}"
        steps.append(ExplainedStep(target.id, "depends on", met, about))
    steps += gates
    steps += [_event_step(each) for each in view.log.events(node_id=task.id)[-8:]]
    unmet = [step.where for step in steps if step.result == "unmet"]
    why = f": {waits[0]}" if waits else _why_so(task, unmet)
    return Explanation(
        subject=task.id,
        verdict=f"{task.id} is {shown_state(task.state)}{why}",
        steps=steps,
        next=waits[1] if waits else _next_for(task.state, task.id, unmet),
    )


def explain_run(view: View, run: Run, status: str, reason: str | None, next: str) -> Explanation:
    """Why a run has its status: its last effects, and what happened to it."""
    effects = [_effect_step(view, each) for each in view.runs.effects(run)[-8:]]
    caller = view.runs.caller_of(run.run_id)
    if caller is not None:
        by = view.runs.find(caller.run_id)
        effects.insert(0, ExplainedStep(by.run_id, "called by", by.status, caller.effect_id))
    told = view.log.events(node_id=run.run_id, types=_RUN_TURNS)
    steps = [_event_step(each) for each in told[-8:]]
    verdict = f"{run.run_id} ({run.flow}) is {status}{f': {reason}' if reason else ''}"
    return Explanation(subject=run.run_id, verdict=verdict, steps=[*effects, *steps], next=next)


def _effect_step(view: View, effect: JournalEffect) -> ExplainedStep:
    about = effect.error or effect.command or effect.called_flow
    if effect.called_run and effect.resolved_seq is None:
        called = view.runs.find(effect.called_run)
        about += f" is {called.status}{f': {called.reason}' if called.reason else ''}"
    return ExplainedStep(effect.effect_id, effect.kind, effect.status, about)


def _why_so(task: Task, unmet: list[str]) -> str:
    if task.state == "created" and unmet:
        return f": it waits for {', '.join(unmet)}"
    if task.state == "created":
        return ": nothing blocks it, but no hook has made it ready"
    if task.claim:
        return f", claimed by {task.claim.agent} until {task.claim.lease_until}"
    return ""


def _next_for(state: str, identifier: str, unmet: list[str]) -> str:
    commands = {
        "ready": f"hookline task start {identifier}",
        "active": f"hookline task complete {identifier} --result TEXT",
        "blocked": f"hookline task unblock {identifier}",
    }
    if state == "created":
        return f"hookline why {unmet[0]}" if unmet else "hookline hook list"
    return commands.get(state, f"hookline task show {identifier}")


def _switch_steps(hook: Hook | None, switch: bool | None) -> list[ExplainedStep]:
    if hook is None:
        return []
    steps = [ExplainedStep(hook.origin, ", ".join(hook.points), "subscribes")]
    if switch is not None:
        steps.append(ExplainedStep("store", "switched by hand", "on" if switch else "off"))
    elif not hook.enabled:
        steps.append(ExplainedStep(hook.origin, "enabled", "false"))
    if hook.when:
        steps.append(ExplainedStep(hook.origin, f"when {hook.when}", "not evaluated yet"))
    return steps


def _condition_step(call: Delivery) -> ExplainedStep:
    if call.is_begun or call.status == CUT:
        result = "true"
    elif call.condition_values is None:
        result = "not evaluated" if call.status in (SKIPPED, PENDING, QUEUED) else "failed"
    else:
        result = "false" if call.status == SKIPPED else "true"
    return ExplainedStep(call.origin, f"when {call.condition}", result, _values(call))


def _values(call: Delivery) -> str:
    values = call.condition_values or {}
    return "; ".join(f"{name}: {_plain(value)}" for name, value in values.items())


def _run_step(call: Delivery) -> ExplainedStep:
    answers = call.answer and _decision(call) is None
    parts = (
        _took(call),
        f"attempt {call.attempts}" if call.attempts > 1 else "",
        call.error or (f"answer {_short(call.answer)}" if answers else ""),
    )
    detail = ", ".join(part for part in parts if part)
    return ExplainedStep(call.origin, f"{call.kind} hook", _SAID[call.status], detail)


def _took(call: Delivery) -> str:
    took = f"{(call.duration_us or 0) / 1000:.1f} ms"
    return took if call.exit_code is None else f"{took}, exit {call.exit_code}"


def _action_steps(view: View, call: Delivery, before: str) -> Iterator[ExplainedStep]:
    for stored in view.calls.actions(call.event_seq, call.hook):
        detail = stored.error or _short(stored.action.payload)
        yield ExplainedStep("", f"{before}{stored.action.type}", stored.status, detail)


def _decision(call: Delivery) -> StopDecision | None:
    """What a stop hook answered, if this is a call of one."""
    return stored_answer(call.answer, StopDecision) if call.point == "stop" else None


def _decision_steps(call: Delivery) -> list[ExplainedStep]:
    """What a stop hook decided and why; of a chain, what each of its hooks said."""
    if call.point == "stop" and call.error:
        why = "a stop hook that fails escalates to a person"
        return [ExplainedStep("", "counts as", "escalate", why)]
    decision = _decision(call)
    if decision is None:
        return []
    steps = [ExplainedStep("", "decided", decision.action, decision.reason)]
    steps += _chain_steps(decision.metadata.get("hooks"))
    if prompt := decision.next_prompt:
        said = " ".join(prompt.split())
        steps.append(ExplainedStep("", "next prompt", f"{len(prompt)} chars", said))
    return steps


def _failed_checks(view: View, calls: Sequence[Delivery]) -> list[FailedCheck]:
    """The validation rules that failed, as stop hooks were told."""
    asked = next((call for call in calls if call.point == "stop"), None)
    payload = view.calls.payload(asked.event_seq) if asked else None
    results = (payload or {}).get("validationResults") or []
    with suppress(msgspec.ValidationError):  # the point can be fired by hand, with any payload
        return [each for each in typed.convert(results, list[FailedCheck]) if not each.passed]
    return []


def _chain_steps(said: Any) -> list[ExplainedStep]:
    steps: list[ExplainedStep] = []
    for each in said if isinstance(said, list) else ():
        if isinstance(each, dict) and "hook" in each:
            action, reason = (str(each.get(name, "")) for name in ("action", "reason"))
            steps.append(ExplainedStep("", f"  {short_name(str(each['hook']))}", action, reason))
            steps += _chain_steps(each.get("hooks"))
    return steps


def _cause_step(view: View, event: Event) -> ExplainedStep:
    cause = event.metadata.get("cause")
    if not cause:
        return ExplainedStep("", "caused by", str(event.metadata.get("triggeredBy", "unknown")))
    before = view.log.find(cause)
    hook = short_name(str(event.metadata.get("hook", "a hook")))
    shown = f"{before.type} of {before.node_id}" if before else "an event that is gone"
    return ExplainedStep(f"event {cause}", "caused by", f"hook {hook}", f"at {shown}")


def _hint(call: Delivery) -> str:
    if call.status == SKIPPED and call.condition_values is not None:
        return f"it runs when `{call.condition}` is true"
    return _HINTS.get(call.status, "")


def _why(call: Delivery) -> str:
    if call.error:
        return call.error
    if call.status == SKIPPED and call.condition_values is not None:
        return f"when {call.condition} is false ({_values(call)})"
    decision = _decision(call)
    return f"{decision.action}: {decision.reason}" if decision else _took(call)


def _event_step(event: Event) -> ExplainedStep:
    hook = event.metadata.get("hook")
    by = f"hook {short_name(str(hook))}" if hook else event.metadata.get("triggeredBy", "unknown")
    return ExplainedStep(f"event {event.seq}", event.type, f"by {by}", _short(event.data))


def _short(value: Any) -> str:
    return shortened(msgspec.json.encode(value).decode(), 120)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "(none)"
    return str(value) if isinstance(value, str) else _short(value)


def _replay(call: Delivery) -> str:
    return f"hookline hook replay {_quoted(call.hook)} --event {call.event_seq}"


def _quoted(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() else f"'{name}'"
