"""Calling the hooks of a point for a run: which ones, and with which payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import points
from hookline.domain.events import RUN_POINTS, Event
from hookline.domain.hooks.payload_checks import problems_of
from hookline.domain.sessions.model import HeldOutput
from hookline.domain.work.submissions import OF_PULL_REQUESTS, Submission
from hookline.flows import journal
from hookline.hooks.calls.firing import Firing, fire
from hookline.hooks.calls.settle import task_of
from hookline.hooks.gates.verdicts import overrides
from hookline.hooks.rules import Called, fed_text
from hookline.sessions.state import origin_of
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hookline.domain.hooks.records import Outcome
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.hooks.registry import Hook
    from hookline.ports.store import Transaction, View
    from hookline.sessions.requests import HookOutput

# Built-in hooks act on real events of tasks and runs here, never on what a flow fires.
EVENT_RULES = frozenset({points.REACT, points.STEER})


class Records(list["Callable[[Transaction], None]"]):
    """Records of hook calls, written together with the result of their effect."""

    def write(self, tx: Transaction) -> None:
        """Write them all."""
        for each in self:
            each(tx)


class PointCalls:
    """The hooks that effects of a run call."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def hooks(self, effect: JournalEffect) -> list[Hook]:
        """The configured hooks that an effect calls."""
        point, payload = effect.args["point"], effect.args["payload"]
        if problems_of(point, payload):
            return []
        named = payload.get("agent") or payload.get("agent_name")
        agent = named if isinstance(named, str) else None
        found = hooks_at(self._around, point, agent, self._type_of(payload))
        left_out = self.left_out(effect)
        if points.rule_of(point) in EVENT_RULES:
            left_out |= {hook.name for hook in found if hook.kind == "built-in"}
        if points.rule_of(point) == points.GATE and payload.get("extra", {}).get("skip_pr"):
            left_out |= {hook.name for hook in found if hook.target in OF_PULL_REQUESTS}
        return [hook for hook in found if hook.name not in left_out]

    def left_out(self, effect: JournalEffect) -> set[str]:
        """The gates that are not asked: they have passed, or a person overrode them."""
        left_out = set(effect.args.get("skip", ()))
        if points.rule_of(effect.args["point"]) == points.GATE:
            left_out |= overridden(self._around, effect.args["payload"]["task_id"])
        return left_out

    async def call(
        self, attempt: Attempt, hooks: list[Hook], records: Records, name: str = ""
    ) -> list[Called]:
        """Call hooks, each with its outcome; output for the next prompt is held."""
        run, effect, point = attempt.run, attempt.effect, attempt.args["point"]

        def held(tx: Transaction, event: Event, hook: Hook, outcome: Outcome) -> None:
            said = piped(hook, outcome, point)
            if said is not None and is_held(point, said):
                tx.sessions.hold(run.run_id, HeldOutput(event.seq, hook.name, point, said["text"]))

        payload, event = effect.args["payload"], None
        if points.rule_of(point) == points.REACT:
            with self._around.store.read() as view:
                payload, event = _as_event(view, run, effect)
        # Verdicts on a task's work are recorded with the task.
        node = payload["task_id"] if points.rule_of(point) == points.GATE else run.run_id
        firing = Firing(
            point,
            payload,
            node,
            f"{run.run_id}/{run.chapter}/{effect.effect_id}{name}",
            attempt.hook_key,
            after=effect.requested_seq,
            guard=attempt.guard,
            on_record=held,
            observe=attempt.observe,
            later=records.append,
            event=event,
        )
        return await fire(self._around.recorder, firing, hooks)

    def _type_of(self, payload: dict[str, Any]) -> str | None:
        """The type of the task that a point is about; a session names its task alone."""
        known, task_id = payload.get("task_type"), payload.get("taskId")
        if known or not isinstance(task_id, str) or not self._around.scopes.of_types:
            return known
        with self._around.store.read() as view:
            task = task_of(view.graph, task_id)
        return task.type if task else None


def hooks_at(
    around: Surroundings, point: str, agent: str | None, task_type: str | None
) -> list[Hook]:
    """The hooks of a point for an agent's work on a task, without those that are switched off."""
    found = around.scopes.hooks_at(point, agent=agent, task_type=task_type)
    return around.recorder.enabled(found)


def overridden(around: Surroundings, task_id: str) -> set[str]:
    """The gates that a person has overridden for a task."""
    with around.store.read() as view:
        return {each.hook for each in overrides(view, task_id)}


def built_in_gates(
    around: Surroundings, work: Submission, target: str, but: Collection[str] = ()
) -> list[Hook]:
    """The gates of one built-in kind for some work; those with the same arguments once."""
    found: dict[bytes, Hook] = {}
    for point in points.HOLDING:
        for hook in hooks_at(around, point, work.agent, work.task_type):
            if (hook.kind, hook.target) == ("built-in", target) and hook.name not in but:
                found.setdefault(msgspec.json.encode(hook.metadata.get("arguments")), hook)
    return list(found.values())


def _as_event(view: View, run: Run, effect: JournalEffect) -> tuple[dict[str, Any], Event]:
    """What hooks that react to events receive, and the event in it; the log does not hold it."""
    point, data = effect.args["point"], effect.args["payload"]
    task = task_of(view.graph, str(data.get("taskId")))
    event = Event(
        seq=effect.requested_seq,
        id=f"{run.run_id}/{run.chapter}/{effect.effect_id}",
        timestamp=effect.requested_at,
        type=point,
        node_id=task.id if task else run.run_id,
        data=data,
        metadata=journal.origin({}, run, origin_of(run)),
    )
    # Notices about runs are shown with their fields next to the event.
    notice = data if point in RUN_POINTS.values() else {}
    return dict(msgspec.to_builtins({**notice, "event": event, "task": task})), event


def piped(hook: Hook, outcome: Outcome, point: str) -> HookOutput | None:
    """A hook's output for the agent; None if it has none."""
    feeds = hook.pipe_output and points.rule_of(point) == points.FEED
    text = prompts.capped(fed_text(outcome)) if feeds else ""
    if not text:
        return None
    deliver = hook.metadata.get("deliver", "next")
    return {"hook": hook.name, "point": point, "text": text, "deliver": deliver}


def is_held(point: str, said: HookOutput) -> bool:
    """Whether output waits for the next prompt; elsewhere it is part of the answer."""
    delivery = points.delivery_of(point)
    return delivery == points.HELD or (delivery == points.HELD_OR_NOW and said["deliver"] != "now")
