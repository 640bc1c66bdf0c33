"""Why something happened or did not, told from the record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRED, RUN_EVENTS, STEERED
from hookline.domain.records import CUT, DEAD, FAILED, OK, PENDING, SKIPPED, TIMEOUT
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.tasks import SETTLED
from hookline.hooks.verdicts import run_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.events import Event
    from hookline.domain.records import Delivery
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.hooks.registry import Hook
    from hookline.ports.store import View

    # Whether a living process has a lease: its owner, and until when.
    IsHeld = Callable[[str | None, float], bool]


class Step(msgspec.Struct, rename="camel"):
    """One line of an explanation: where it stands, what it is, how it came out."""

    where: str
    what: str
    result: str
    detail: str = ""


class Explanation(msgspec.Struct, rename="camel"):
    """An answer to "why?": one sentence, the steps that led there, and what to type next."""

    subject: str
    verdict: str
    steps: list[Step] = []
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
    CUT: "was cut short",
}
# What changes how a run stands.
_RUN_TURNS = RUN_EVENTS - {"effect_requested", "effect_resolved", "run_chapter"}
# Ran to their end, or were ended by Hookline itself.
_OVER = frozenset({OK, FAILED, TIMEOUT, DEAD})


def explain_hook(
    view: View, hook: Hook | None, name: str, switch: bool | None, is_held: IsHeld
) -> Explanation:
    """Why a hook did what it did when it was last called."""
    calls = view.calls.calls_of(name, 1)
    if calls:
        event = view.log.find(calls[0].event_seq)
        assert event is not None  # a call is written with its event
        told = explain_call(view, calls[0], event, is_held)
        if hook is None:
            told.next = ""  # it was registered by a program, and only there can it run again
        return told
    steps = _standing(hook, switch)
    points = ", ".join(hook.points) if hook else "its point"
    return Explanation(
        subject=name,
        verdict=f"{name} was never called",
        steps=steps,
        hint=f"it is called at {points}",
        next=f"hookline hook test {name}",
    )


def explain_call(view: View, call: Delivery, event: Event, is_held: IsHeld) -> Explanation:
    """Why one call of a hook went as it did."""
    where = f"event {event.seq} ({event.type}, {event.node_id})"
    said = _said(view, call, event, is_held)
    steps = [Step(call.origin, call.point, "matched")]
    if call.condition:
        steps.append(_condition_step(call))
    if call.status in _OVER:
        steps.append(_run_step(call))
        steps += _decision_steps(call)
    if call.status in (SKIPPED, PENDING) and call.error:
        steps.append(Step(call.origin, "held back", "yes", call.error))
    for stored in view.calls.actions(event.seq, call.hook):
        detail = stored.error or _short(stored.action.payload)
        steps.append(Step("", f"action {stored.action.type}", stored.status, detail))
    return Explanation(
        subject=call.hook,
        verdict=f"{call.hook} {said} at {where}",
        steps=steps,
        output="\n".join(part for part in (call.stdout, call.stderr) if part),
        hint=_again(view, event) if said == _SAID[CUT] else _hint(call),
        next=_next_after(call),
    )


def _said(view: View, call: Delivery, event: Event, is_held: IsHeld) -> str:
    """How a call went; of one that has begun, whether somebody is still at it."""
    if not call.is_begun:
        return _SAID[call.status]
    if event.type in (FIRED, STEERED):
        run = run_of(event)
        holder, _, until = view.runs.holder(run) if run else (None, 0, 0.0)
    else:
        holder, until = view.calls.holder(event.node_id)
    return "is being called" if is_held(holder, until) else _SAID[CUT]


def _again(view: View, event: Event) -> str:
    """Who calls a hook again whose call was cut short."""
    if event.type not in (FIRED, STEERED):
        return "it is called again by the next command that writes"
    run = run_of(event)
    if run is None:
        return ""
    is_session = view.runs.find(run).flow == SESSION
    return f"it is called again when {'its session' if is_session else run} goes on"


def explain_event(view: View, event: Event, is_held: IsHeld) -> Explanation:
    """What caused an event, and what its hooks did."""
    steps = [_cause_step(view, event)]
    calls = view.calls.deliveries(event.seq)
    for call in calls:
        said = _said(view, call, event, is_held)
        steps.append(Step(call.origin, f"hook {call.hook}", said, _why(call)))
        for stored in view.calls.actions(event.seq, call.hook):
            detail = stored.error or _short(stored.action.payload)
            steps.append(Step("", f"  {stored.action.type}", stored.status, detail))
    done = sum(call.status == OK for call in calls)
    verdict = f"{event.type} of {event.node_id} at {event.timestamp}"
    if calls:
        verdict += f": {done} of {len(calls)} hooks ran"
    else:
        verdict += ": no hook subscribes to it"
    failed = next((c for c in calls if c.status in (FAILED, TIMEOUT, DEAD)), None)
    return Explanation(
        subject=f"event {event.seq}",
        verdict=verdict,
        steps=steps,
        hint=f"{failed.hook}: {failed.error}" if failed else "",
        next=f"hookline hook replay {_quoted(failed.hook)} --event {event.seq}" if failed else "",
    )


def explain_task(
    view: View, task: Task, gates: Sequence[Step], waits: tuple[str, str] | None = None
) -> Explanation:
    """Why a task is in the state it is in; `waits` is why it stays there, and what to type.

    `gates` are what was said when its work was last judged.
    """
    steps = []
    for edge in view.graph.edges_from(task.id, "depends_on"):
        target = view.graph.task(edge.to_id)
        met = "met" if target.state in SETTLED else "unmet"
        steps.append(Step(target.id, "depends on", met, f"{target.state}: {target.goal}"))
    steps += gates
    events = view.log.events(node_id=task.id)
    steps += [Step(f"event {e.seq}", e.type, _by(e), _short(e.data)) for e in events[-8:]]
    unmet = [step.where for step in steps if step.result == "unmet"]
    return Explanation(
        subject=task.id,
        verdict=f"{task.id} is {task.state}{f': {waits[0]}' if waits else _why_so(task, unmet)}",
        steps=steps,
        next=waits[1] if waits else _next_for(task.state, task.id, unmet),
    )


def explain_run(view: View, run: Run, status: str, reason: str | None, next: str) -> Explanation:
    """Why a run stands where it does: what it asked for last, and what happened to it."""
    effects = [
        Step(each.effect_id, each.kind, each.status, each.error or each.command)
        for each in view.runs.effects(run)[-8:]
    ]
    told = [each for each in view.log.events(node_id=run.run_id) if each.type in _RUN_TURNS]
    steps = [Step(f"event {e.seq}", e.type, _by(e), _short(e.data)) for e in told[-8:]]
    verdict = f"{run.run_id} ({run.flow}) is {status}{f': {reason}' if reason else ''}"
    return Explanation(subject=run.run_id, verdict=verdict, steps=[*effects, *steps], next=next)


def _why_so(task: Task, unmet: list[str]) -> str:
    if task.state == "created":
        if unmet:
            return f": it waits for {', '.join(unmet)}"
        return ": nothing holds it back, but no hook has made it ready"
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


def _standing(hook: Hook | None, switch: bool | None) -> list[Step]:
    if hook is None:
        return []
    steps = [Step(hook.origin, ", ".join(hook.points), "subscribes")]
    if switch is not None:
        steps.append(Step("store", "switched by hand", "on" if switch else "off"))
    elif not hook.enabled:
        steps.append(Step(hook.origin, "enabled", "false"))
    if hook.when:
        steps.append(Step(hook.origin, f"when {hook.when}", "not evaluated yet"))
    return steps


def _condition_step(call: Delivery) -> Step:
    values = call.condition_values
    shown = "; ".join(f"{name}: {_plain(value)}" for name, value in (values or {}).items())
    if call.is_begun or call.status == CUT:
        result = "true"
    elif values is None:
        result = "not evaluated" if call.status in (SKIPPED, PENDING) else "failed"
    else:
        result = "false" if call.status == SKIPPED else "true"
    return Step(call.origin, f"when {call.condition}", result, shown)


def _run_step(call: Delivery) -> Step:
    parts = [f"{(call.duration_us or 0) / 1000:.1f} ms"]
    if call.exit_code is not None:
        parts.append(f"exit {call.exit_code}")
    if call.attempts > 1:
        parts.append(f"attempt {call.attempts}")
    if call.error:
        parts.append(call.error)
    elif call.answer and _decision(call) is None:
        parts.append(f"answer {_short(call.answer)}")
    return Step(call.origin, f"{call.kind} hook", _SAID[call.status], ", ".join(parts))


def _decision(call: Delivery) -> dict[str, Any] | None:
    """What a stop hook answered, if this is a call of one."""
    answer = call.answer
    decided = call.point == "stop" and isinstance(answer, dict) and "action" in answer
    return answer if decided else None


def _decision_steps(call: Delivery) -> list[Step]:
    """What a stop hook decided and why; of a chain, what each of its hooks said."""
    if call.point == "stop" and call.error:
        return [Step("", "counts as", "escalate", "a stop hook that fails asks for a person")]
    answer = _decision(call)
    if answer is None:
        return []
    steps = [Step("", "decided", str(answer["action"]), str(answer.get("reason", "")))]
    steps += _chain_steps(answer.get("metadata", {}).get("hooks"))
    prompt = answer.get("nextPrompt")
    if prompt:
        steps.append(Step("", "next prompt", f"{len(prompt)} chars", " ".join(prompt.split())))
    return steps


def _chain_steps(said: Any) -> list[Step]:
    steps: list[Step] = []
    for each in said if isinstance(said, list) else ():
        if isinstance(each, dict) and "hook" in each:
            what = f"  {each['hook']}"
            steps.append(Step("", what, str(each.get("action", "")), str(each.get("reason", ""))))
            steps += _chain_steps(each.get("hooks"))
    return steps


def _cause_step(view: View, event: Event) -> Step:
    cause = event.metadata.get("cause")
    if not cause:
        return Step("", "caused by", str(event.metadata.get("triggeredBy", "unknown")))
    before = view.log.find(cause)
    hook = event.metadata.get("hook", "a hook")
    shown = f"{before.type} of {before.node_id}" if before else "an event that is gone"
    return Step(f"event {cause}", "caused by", f"hook {hook}", f"at {shown}")


def _hint(call: Delivery) -> str:
    if call.status == SKIPPED and call.condition_values is not None:
        return f"it runs when `{call.condition}` is true"
    if call.status == TIMEOUT:
        return "give it more time with `timeout:`, or make it faster"
    if call.status == DEAD:
        return "its process was killed each time; run it again with `hook replay`"
    return ""


def _next_after(call: Delivery) -> str:
    if call.status == SKIPPED and call.error:
        return "hookline hook show " + _quoted(call.hook)
    return f"hookline hook replay {_quoted(call.hook)} --event {call.event_seq}"


def _why(call: Delivery) -> str:
    if call.error:
        return call.error
    if call.status == SKIPPED and call.condition_values is not None:
        values = "; ".join(f"{k}: {_plain(v)}" for k, v in call.condition_values.items())
        return f"when {call.condition} is false ({values})"
    took = f"{(call.duration_us or 0) / 1000:.1f} ms"
    decision = _decision(call)
    if decision is not None:
        return f"{decision['action']}: {decision.get('reason', '')}"
    return took if call.exit_code is None else f"{took}, exit {call.exit_code}"


def _by(event: Event) -> str:
    hook = event.metadata.get("hook")
    return f"by hook {hook}" if hook else f"by {event.metadata.get('triggeredBy', 'unknown')}"


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:119] + "…"


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "(none)"
    return str(value) if isinstance(value, str) else _short(value)


def _quoted(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() else f"'{name}'"
