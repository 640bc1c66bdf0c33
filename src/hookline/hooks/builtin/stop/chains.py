"""What a chain of stop hooks decides: `all_of`, `any_of`, `not`. An escalation always wins.

So the decision does not depend on the order of the hooks, and no hook can overrule one that asks
for a person. A skipped hook does not count.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.hooks.answers import StopDecision
from hookline.domain.hooks.records import SKIPPED, Outcome
from hookline.domain.text.display import line_of, shortened
from hookline.hooks.builtin import CHAINS
from hookline.hooks.builtin.stop.context import MAX_REASON
from hookline.hooks.rules import RULES, failed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.hooks.registry import Hook

    Called = tuple[Hook, Outcome]

MAX_JOINED = 64 * 1024


class _ChainVerdict(NamedTuple):
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
    wishes = [each.checkpoint_data for each in decisions if each.checkpoint_data is not None]
    verdict = _verdict(name, decisions)
    return StopDecision(
        action=verdict.action,  # type: ignore[arg-type]  # one of the literals, by the folds below
        reason=shortened(verdict.reason, MAX_REASON),
        next_prompt=_joined([d.next_prompt for d in verdict.by if d.next_prompt]),
        checkpoint_data=wishes[-1] if wishes else None,
        metadata={
            **dict(item for each in verdict.by for item in each.metadata.items()),
            "hooks": [_record(each) for each in called],
        },
    )


def _decision(called: Called) -> StopDecision:
    decision: StopDecision = RULES["decide"].fold([called])
    return decision


def _verdict(name: str, decisions: Sequence[StopDecision]) -> _ChainVerdict:
    for decision in decisions:
        if decision.action == "escalate":
            return _ChainVerdict("escalate", decision.reason, [decision])
    if not decisions:
        return _ChainVerdict("continue", f"No hook of this {name} decided anything", [])
    return _FOLDS[name](decisions)


def _where_one(action: str, otherwise: str, decisions: Sequence[StopDecision]) -> _ChainVerdict:
    """What one of the hooks says, if one says it; else what all of them say."""
    if by := [each for each in decisions if each.action == action]:
        return _ChainVerdict(action, _reasons(by), by)
    return _ChainVerdict(otherwise, _reasons(decisions), decisions)


def _not(decisions: Sequence[StopDecision]) -> _ChainVerdict:
    decision = decisions[0]
    if decision.action == "complete":
        # The agent has nothing to do about what completed the hook, so only the reason is told.
        return _ChainVerdict("continue", f"Still the case: {decision.reason}", [])
    return _ChainVerdict("complete", f"Not the case: {decision.reason}", [])


_FOLDS: dict[str, Callable[[Sequence[StopDecision]], _ChainVerdict]] = {
    "all_of": partial(_where_one, "continue", "complete"),
    "any_of": partial(_where_one, "complete", "continue"),
    "not": _not,
}


def _reasons(decisions: Sequence[StopDecision]) -> str:
    return "; ".join(each.reason for each in decisions if each.reason)


def _joined(prompts: Sequence[str]) -> str | None:
    share = MAX_JOINED // max(len(prompts), 1)
    return "\n\n".join(shortened(each, share) for each in prompts) or None


def _record(called: Called) -> dict[str, Any]:
    hook, outcome = called
    if outcome.status == SKIPPED:
        return {"hook": hook.name, "action": "skipped"}
    decision = _decision(called)
    reason = line_of(decision.reason, 300)
    record = {"hook": hook.name, "action": decision.action, "reason": reason}
    nested = decision.metadata.get("hooks") if hook.target in CHAINS else None
    return {**record, "hooks": nested} if nested else record
