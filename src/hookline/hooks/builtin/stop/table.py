"""The built-in stop hooks by name: pure functions from what an iteration did to a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.hooks.answers import StopDecision
from hookline.domain.text.excerpts import both_ends, headed_excerpt
from hookline.domain.text.terminal import plural
from hookline.hooks.builtin.stop import templates
from hookline.hooks.builtin.stop.context import (
    FIX,
    Arguments,
    NoArguments,
    continue_with,
    escalation,
    lost_start,
    read_arguments,
    read_context,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.hooks.builtin.stop.context import RuleResult, Seen

MAX_SHORT = 120


def checked(seen: Seen, given: NoArguments) -> StopDecision:
    """Complete only on a promise, and only if no rule fails and, in git, something was changed."""
    by_results, work = _by_results(seen), seen.work
    if (asked := escalation(seen) or lost_start(seen)) is not None:
        return asked
    if by_results is not None and by_results.action == "continue":
        return by_results
    if not seen.promised("COMPLETE"):
        return StopDecision("continue", "The agent has not promised COMPLETE yet")
    in_git = work is not None and not work.gated and (work.in_repository or work.error)
    if work is not None and in_git and (missing := list(templates.no_change(work))):
        return templates.not_yet(missing)
    if work is not None and in_git and (shared := templates.whose(work)) is not None:
        return shared
    count = len(seen.validation_results)
    rules = f"{plural(count, 'check')} passed" if count else "no check is configured"
    changed = f", {plural(work.changed_files, 'file')} changed" if work and work.diff_hash else ""
    edited, told = (work.edited_tests, work.told_edits) if work is not None else ({}, "")
    return StopDecision("complete", f"Promised; {rules}{changed}{told}", metadata=edited)


def default(seen: Seen, given: NoArguments) -> StopDecision:
    """Promises first, then validation results; passing rules do not complete unfinished work."""
    by_results = _by_results(seen)
    if by_results and by_results.action == "complete" and seen.promised("CONTINUE"):
        more = "Agent signaled more to do via <promise>CONTINUE</promise>"
        by_results = StopDecision("continue", more)
    return _by_promise(seen) or by_results or StopDecision("continue", "Iteration in progress")


def validation(seen: Seen, given: NoArguments) -> StopDecision:
    """Only validation results count; none at all is not a pass."""
    return _by_results(seen) or StopDecision("continue", "No validation rules")


def promise(seen: Seen, given: NoArguments) -> StopDecision:
    """Only promises count: COMPLETE completes, ESCALATE and BLOCKED escalate."""
    return _by_promise(seen) or StopDecision("continue", "No promise detected")


def _by_promise(seen: Seen) -> StopDecision | None:
    """An agent that promises both asks for help, and is not done."""
    said = "Agent signaled completion via <promise>COMPLETE</promise>"
    done = StopDecision("complete", said) if seen.promised("COMPLETE") else None
    return escalation(seen) or done


def _by_results(seen: Seen) -> StopDecision | None:
    results = seen.validation_results
    if not results:
        return None
    failing = [each for each in results if not each.passed]
    if not failing:
        return StopDecision("complete", f"All validation rules pass ({len(results)})")
    told = ", ".join(_short(each) for each in failing)
    fail = "fails" if len(failing) == 1 else "fail"
    rules = plural(len(results), "validation rule")
    said = [f"- {each.rule_name}: {headed_excerpt(each.message or '')}" for each in failing]
    lines = "\n".join(each.removesuffix(": ") for each in said)
    return continue_with(f"{len(failing)} of {rules} {fail}: {told}", f"{FIX}\n{lines}")


def _short(result: RuleResult) -> str:
    said = both_ends(result.message or "", MAX_SHORT)
    return f"{result.rule_name} ({said})" if said else result.rule_name


class StopHook(NamedTuple):
    """A built-in stop hook: how it decides, what it can be told, whether it lives on results.

    One that `needs_diff` looks at what changed since the session began.
    """

    decision: Callable[[Seen, Any], StopDecision]
    arguments: type[Arguments] = NoArguments
    needs_results: bool = False
    needs_diff: bool = False

    def decide(self, context: object, arguments: Any = None) -> StopDecision:
        """The decision about an iteration's context."""
        given = read_arguments(self.arguments, arguments)
        return self.decision(read_context(context), given)


STOP_BUILTINS: dict[str, StopHook] = {
    "checked": StopHook(checked, needs_diff=True),
    "default": StopHook(default),
    "validation": StopHook(validation, needs_results=True),
    "promise": StopHook(promise),
    "evidence": StopHook(templates.evidence, templates.Evidence, True, needs_diff=True),
    "tdd": StopHook(templates.tdd, templates.Tdd),
    "security-remediation": StopHook(templates.security_remediation, templates.SecurityRemediation),
    "checkpoint": StopHook(templates.checkpoint, templates.PlannedCheckpoint),
    "coverage": StopHook(templates.coverage, templates.Coverage),
    "max-iterations": StopHook(templates.max_iterations, templates.MaxIterations),
    "files-changed": StopHook(templates.files_changed, templates.FilesChanged),
}
STOP_PRESETS = {name: each.decide for name, each in STOP_BUILTINS.items()}


def check_arguments(name: str, arguments: Any) -> None:
    """Refuse arguments that the built-in of that name cannot use, with BadInput."""
    read_arguments(STOP_BUILTINS[name].arguments, arguments)
