"""What a chain of stop hooks decides: `all_of`, `any_of`, `not`. An escalation always wins.

So the decision does not depend on the order of the hooks, and nobody who wants a person to look
is talked over. A hook that was skipped has no say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.answers import StopDecision
from hookline.domain.records import SKIPPED
from hookline.hooks.builtin import CHAINS
from hookline.hooks.builtin.stop_context import MAX_REASON, bounded, one_line
from hookline.hooks.rules import RULES, failed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.records import Outcome
    from hookline.hooks.registry import Hook

    Called = tuple[Hook, Outcome]

MAX_JOINED = 64 * 1024


class _Verdict(NamedTuple):
    """What a chain says, and the decisions that made it so."""

    action: str
    reason: str
    by: Sequence[StopDecision]


def escalates(outcome: Outcome) -> bool:
    """Whether nothing that the other hooks of a chain say can change its decision."""
    return failed(outcome) or (outcome.status != SKIPPED and outcome.answer.action == "escalate")


def fold_chain(name: str, called: Sequence[Called]) -> StopDecision:
    """The one decision of a chain; its metadata tells what each of its hooks said."""
    decisions = [_decision(each) for each in called if each[1].status != SKIPPED]
    verdict = _verdict(name, decisions)
    return StopDecision(
        action=verdict.action,  # type: ignore[arg-type]  # one of the literals, by the folds below
        reason=bounded(verdict.reason, MAX_REASON),
        next_prompt=_joined([d.next_prompt for d in verdict.by if d.next_prompt]),
        checkpoint_data=_last([d.checkpoint_data for d in decisions]),
        metadata={**_metadata(verdict.by), "hooks": [_record(each) for each in called]},
    )


def _decision(called: Called) -> StopDecision:
    decision: StopDecision = RULES["decide"].fold([called])
    return decision


def _verdict(name: str, decisions: Sequence[StopDecision]) -> _Verdict:
    for decision in decisions:
        if decision.action == "escalate":
            return _Verdict("escalate", decision.reason, [decision])
    if not decisions:
        return _Verdict("continue", f"No hook of this {name} had a say", [])
    return _FOLDS[name](decisions)


def _all_of(decisions: Sequence[StopDecision]) -> _Verdict:
    waiting = [each for each in decisions if each.action == "continue"]
    if waiting:
        return _Verdict("continue", _reasons(waiting), waiting)
    return _Verdict("complete", _reasons(decisions), decisions)


def _any_of(decisions: Sequence[StopDecision]) -> _Verdict:
    done = [each for each in decisions if each.action == "complete"]
    if done:
        return _Verdict("complete", _reasons(done), done)
    return _Verdict("continue", _reasons(decisions), decisions)


def _not(decisions: Sequence[StopDecision]) -> _Verdict:
    decision = decisions[0]
    if decision.action == "complete":
        # What completed the hook is no task for the agent, so only the reason is told.
        return _Verdict("continue", f"Still the case: {decision.reason}", [])
    return _Verdict("complete", f"Not the case: {decision.reason}", [])


_FOLDS: dict[str, Callable[[Sequence[StopDecision]], _Verdict]] = dict(
    zip(CHAINS, (_all_of, _any_of, _not), strict=True)
)


def _reasons(decisions: Sequence[StopDecision]) -> str:
    return "; ".join(each.reason for each in decisions if each.reason)


def _joined(prompts: Sequence[str]) -> str | None:
    share = MAX_JOINED // max(len(prompts), 1)
    return "\n\n".join(bounded(each, share) for each in prompts) or None


def _last(found: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    return next((each for each in reversed(found) if each is not None), None)


def _metadata(decisions: Sequence[StopDecision]) -> dict[str, Any]:
    return {key: value for each in decisions for key, value in each.metadata.items()}


def _record(called: Called) -> dict[str, Any]:
    hook, outcome = called
    if outcome.status == SKIPPED:
        return {"hook": hook.name, "action": "skipped"}
    decision = _decision(called)
    record = {
        "hook": hook.name,
        "action": decision.action,
        "reason": one_line(decision.reason, 300),
    }
    nested = decision.metadata.get("hooks") if hook.target in CHAINS else None
    return {**record, "hooks": nested} if nested else record
