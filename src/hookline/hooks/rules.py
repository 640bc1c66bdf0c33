"""The six rules: how the answers of several hooks become one answer.

A rule is data: how to read one hook's reply, when to stop asking, what the next hook sees, and
a pure fold over the outcomes. The dispatcher knows nothing else about any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.answers import (
    AUTO_ACCEPTED,
    FeedAnswer,
    GateAnswer,
    GuardAnswer,
    StopDecision,
)
from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import FAILED, OK, SKIPPED, TIMEOUT, Actions, Outcome, Reply
from hookline.hooks import replies
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.hooks.registry import Hook

Called = tuple["Hook", Outcome]


class PointRule(Immutable):
    """How one answer is made of many.

    Without `stops` every hook is asked, without `carry` all see the same payload. `nothing` is
    the answer of a function that returns nothing, where that is one.
    """

    name: str
    read: Callable[[Reply, Hook], Any]
    fold: Callable[[Sequence[Called]], Any]
    stops: Callable[[Outcome], bool] | None = None
    carry: Callable[[Any, Outcome], Any] | None = None
    arrange: Callable[[Sequence[Hook]], Sequence[Hook]] = lambda hooks: hooks
    nothing: Any = None


def failed(outcome: Outcome) -> bool:
    """Whether the hook gave no answer although it was asked."""
    return outcome.status in (FAILED, TIMEOUT)


# react: all run; a failure is isolated; their actions in order.


def _fold_react(called: Sequence[Called]) -> Actions:
    found = Actions()
    for _, outcome in called:
        if outcome.status == OK:
            for action in outcome.answer or ():
                if action.problem is None:
                    found.append(action)
                else:
                    told = Outcome(outcome.hook, FAILED, error=action.problem)
                    found.failures = (*found.failures, told)
        elif failed(outcome):
            found.failures = (*found.failures, outcome)
    return found


# feed: all run; text of the hooks that pipe; a failure becomes text as well.


def _fold_feed(called: Sequence[Called]) -> FeedAnswer:
    texts = [fed_text(outcome) for hook, outcome in called if hook.pipe_output]
    return FeedAnswer(text="\n".join(text for text in texts if text))


def fed_text(outcome: Outcome) -> str:
    """What one hook tells the agent; a failure is reported too."""
    if outcome.status == OK:
        text = str(outcome.answer.text)
        return f"exit code {outcome.exit_code}\n{text}" if outcome.exit_code else text
    if outcome.status == SKIPPED:
        return ""
    stderr = unsaid(outcome.stderr, outcome.error or "")
    said = "\n".join(part for part in (outcome.stdout, stderr) if part)
    return f"[hook {short_name(outcome.hook)} failed: {outcome.error}]" + (
        f"\n{said}" if said else ""
    )


def unsaid(stderr: str, error: str) -> str:
    """What a program wrote before the last line, if its error ends with that line already."""
    before, _, last = stderr.rstrip().rpartition("\n")
    return before if last.strip() and error.endswith(last.strip()) else stderr


# gate: until the first failure or pending; a hook that fails counts as failure.


def _stops_gate(outcome: Outcome) -> bool:
    if outcome.status == SKIPPED:
        return False
    return failed(outcome) or outcome.answer.status in ("failure", "pending")


def _carry_gate(payload: Any, outcome: Outcome) -> Any:
    if outcome.status != OK or not isinstance(payload, dict):
        return payload
    from hookline.hooks.gates.reports import with_report  # most calls are not those of gates

    return {**payload, "extra": with_report(payload.get("extra", {}), outcome)}


def _fold_gate(called: Sequence[Called]) -> GateAnswer:
    asked = [outcome for _, outcome in called if outcome.status != SKIPPED]
    answers = [each.answer if each.status == OK else _closed(each) for each in asked]
    if not answers:
        return GateAnswer(status="success", message=AUTO_ACCEPTED)
    context = dict(item for answer in answers for item in answer.context.items())
    last = answers[-1]
    if last.status in ("failure", "pending"):
        return msgspec.structs.replace(last, context=context)
    skipped = all(answer.status == "skip" for answer in answers)
    message = "; ".join(answer.message for answer in answers if answer.message)
    return GateAnswer(status="skip" if skipped else "success", message=message, context=context)


def _closed(outcome: Outcome) -> GateAnswer:
    return GateAnswer(
        status="failure", message=f"{short_name(outcome.hook)} failed: {outcome.error}"
    )


# decide: until the first complete or escalate; the last continue wins; a failure escalates.
# A checkpoint that any of them asks for is made.


def _stops_decide(outcome: Outcome) -> bool:
    if outcome.status == SKIPPED:
        return False
    return failed(outcome) or outcome.answer.action != "continue"


def _fold_decide(called: Sequence[Called]) -> StopDecision:
    decisions = [_decision(outcome) for _, outcome in called if outcome.status != SKIPPED]
    if called and not decisions:
        return StopDecision("continue", "no stop hook applied")
    if not decisions:
        return StopDecision("continue", "No hooks registered for this task", hook_id="default")
    wishes = (each.checkpoint_data for each in decisions if each.checkpoint_data is not None)
    return msgspec.structs.replace(decisions[-1], checkpoint_data=next(wishes, None))


def _decision(outcome: Outcome) -> StopDecision:
    if failed(outcome):
        return escalated(outcome)
    answer: StopDecision = outcome.answer
    return msgspec.structs.replace(answer, hook_id=outcome.hook)


def escalated(outcome: Outcome) -> StopDecision:
    """The decision of a stop hook that failed."""
    reason = f"Hook evaluation failed: {outcome.error}"
    return StopDecision("escalate", reason, metadata={"error": outcome.error}, hook_id=outcome.hook)


# steer: until the first answer; a failure is reported and the next hook is asked.


def _stops_steer(outcome: Outcome) -> bool:
    return outcome.status == OK and _is_answer(outcome.answer)


def _is_answer(answer: dict[str, Any]) -> bool:
    if "action" in answer:
        return answer["action"] not in ("none", "pass", None)
    return "needsMoreIterations" in answer


def _carry_steer(payload: Any, outcome: Outcome) -> Any:
    if outcome.status == OK and outcome.answer.get("action") == "pass":
        return {**payload, "tasks": outcome.answer.get("tasks", [])}
    return payload


def _fold_steer(called: Sequence[Called]) -> dict[str, Any]:
    if called and _stops_steer(called[-1][1]):
        return dict(called[-1][1].answer)
    reasons = [o.answer["reason"] for _, o in called if o.status == OK and o.answer.get("reason")]
    return {"action": "none", "reason": reasons[-1] if reasons else "no hook answered"}


# guard: rewrites first, in order, then all checks on the final input; the strictest wins.

_STRICTNESS = ("deny", "defer", "ask", "modify", "allow", "none")
_ON_FAILURE = {"open": "none", "closed": "deny", "ask": "ask"}


def _rewrites_first(hooks: Sequence[Hook]) -> Sequence[Hook]:
    return [h for h in hooks if h.rewrites] + [h for h in hooks if not h.rewrites]


def _carry_guard(payload: Any, outcome: Outcome) -> Any:
    if outcome.status == OK and outcome.answer.updated_input is not None:
        return {**payload, "input": outcome.answer.updated_input}
    return payload


def _fold_guard(called: Sequence[Called]) -> GuardAnswer:
    answers = [_verdict(hook, o) for hook, o in called if o.status != SKIPPED]
    if not answers:
        return GuardAnswer(verdict="none")
    strictest = min(answers, key=lambda answer: _STRICTNESS.index(answer.verdict))
    rewritten = [None, *(a.updated_input for a in answers if a.updated_input is not None)]
    context = "\n".join(a.context for a in answers if a.context) or None
    return GuardAnswer(strictest.verdict, strictest.reason, rewritten[-1], context)


def _verdict(hook: Hook, outcome: Outcome) -> GuardAnswer:
    if not failed(outcome):
        answer: GuardAnswer = outcome.answer
        return answer
    verdict = _ON_FAILURE[hook.on_failure]
    return GuardAnswer(verdict=verdict, reason=f"{short_name(hook.name)} failed: {outcome.error}")  # type: ignore[arg-type]  # one of the literals, by the table above


RULES: dict[str, PointRule] = {
    rule.name: rule
    for rule in (
        PointRule("react", replies.read_react, _fold_react, nothing=()),
        PointRule("feed", replies.read_feed, _fold_feed),
        PointRule("gate", replies.read_gate, _fold_gate, _stops_gate, _carry_gate),
        PointRule("decide", replies.read_decide, _fold_decide, _stops_decide),
        PointRule("steer", replies.read_steer, _fold_steer, _stops_steer, _carry_steer),
        PointRule("guard", replies.read_guard, _fold_guard, None, _carry_guard, _rewrites_first),
    )
}
