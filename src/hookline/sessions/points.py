"""Effects that fire hook points for a run: the combined answer of a point's hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.payload_checks import check_payload
from hookline.domain.runs.model import OK, JournalEffect, Resolution, Run
from hookline.domain.text.display import line_of
from hookline.domain.work.repository import control_told
from hookline.flows.effects import EffectKind
from hookline.flows.outcomes import CUT
from hookline.hooks.builtin.gates.commands import runs_programs
from hookline.hooks.framing import new_word
from hookline.hooks.registered import both, decide, hook_of
from hookline.hooks.rules import RULES, Called
from hookline.points import DECIDE, END, FEED, GATE, points_at, rule_of
from hookline.sessions.git_control import GitControl
from hookline.sessions.point_calls import PointCalls, Records, is_held, piped
from hookline.sessions.told import prompts
from hookline.tasks import registrations

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.hooks.answers import StopDecision
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.hooks.registry import Hook

    # Of an attempt: the gates that were asked with their outcomes, those passed before.
    AnswerGates = Callable[[Attempt, list[Called], list[str]], Awaitable[dict[str, Any]]]

LONGEST_REASON = 2000


class PointEffects:
    """The kind of effects that fire hook points.

    `answer_gates` combines what gates said. `forget` is called for a run whose hooks may touch its
    files.
    """

    def __init__(
        self, around: Surroundings, answer_gates: AnswerGates, forget: Callable[[Run], None]
    ) -> None:
        self._around, self._answer_gates, self._forget = around, answer_gates, forget
        self._control = GitControl(around)
        self._calls = PointCalls(around)

    @property
    def kind(self) -> EffectKind:
        """The table of this kind."""
        return EffectKind(self._fire_point, self._keys, _cut)

    async def _fire_point(self, attempt: Attempt) -> Resolution:
        """Fire a hook point; the combined answer of its hooks."""
        point = attempt.args["point"]
        check_payload(point, attempt.args["payload"])
        hooks = self._calls.hooks(attempt.effect)
        if any(map(runs_programs, hooks)):
            self._forget(attempt.run)
        elif not self._registered(attempt.effect):
            return await self._answer(attempt, hooks)
        found, changed = await self._control.watch(attempt, lambda: self._answer(attempt, hooks))
        if changed and rule_of(point) == GATE:
            told = control_told(changed, "while gates ran")
            refused = {"status": "failure", "message": told, "remediationPrompt": None}
            return msgspec.structs.replace(found, value={**found.value, **refused, "hook": None})
        return found

    def _keys(self, attempt: Attempt) -> list[str]:
        hooks = [*self._calls.hooks(attempt.effect), *self._registered(attempt.effect)]
        return [attempt.hook_key(hook) for hook in hooks]

    async def _answer(self, attempt: Attempt, hooks: list[Hook]) -> Resolution:
        point, records = attempt.args["point"], Records()
        called = await self._calls.call(attempt, hooks, records)
        rule = rule_of(point)
        if rule == GATE:
            passed = sorted(self._calls.left_out(attempt.effect))
            value = await self._answer_gates(attempt, called, passed)
        elif rule == DECIDE:
            value = await self._decide(attempt, decide(called), records)
        else:
            answer = RULES[rule].fold(called)
            value = msgspec.to_builtins(answer)
            if rule == FEED:
                said = [piped(hook, outcome, point) for hook, outcome in called]
                items = [each for each in said if each is not None and not is_held(point, each)]
                value = {"text": answer.text, "items": items, "nonce": new_word()}
        return Resolution(OK, value, also=records.write)

    async def _decide(
        self, attempt: Attempt, configured: StopDecision, records: Records
    ) -> dict[str, Any]:
        """The decision of the configured hooks and of those that the agent registered."""
        own, registered = self._registered(attempt.effect), None
        if own:
            registered = decide(await self._calls.call(attempt, own, records, name=" registered"))
        return dict(msgspec.to_builtins(_bounded(both(configured, registered))))

    def _registered(self, effect: JournalEffect) -> list[Hook]:
        """The hooks that an agent registered for the decision that an effect makes."""
        task = effect.args["payload"].get("taskId")
        if not task or rule_of(effect.args["point"]) != DECIDE:
            return []
        with self._around.store.read() as view:
            found = registrations.registered(view.log, task)
        return self._around.recorder.enabled([hook_of(each) for each in found])


def _cut(effect: JournalEffect, asked: int) -> Resolution | None:
    # A stopped session runs its last hooks; only a later interruption ends these.
    if effect.args["point"] in points_at(END) and effect.requested_seq >= asked:
        return None
    nothing = {"text": "", "items": [], "nonce": ""}
    why = "a person interrupted it"
    return Resolution(OK, {**CUT, **nothing, "action": "continue", "reason": why})


def _bounded(decision: StopDecision) -> StopDecision:
    """A decision whose texts are cleaned and short enough to keep from chapter to chapter."""
    found: StopDecision = msgspec.structs.replace(
        decision,
        reason=line_of(decision.reason, LONGEST_REASON),
        next_prompt=prompts.capped(decision.next_prompt) if decision.next_prompt else None,
    )
    return found
