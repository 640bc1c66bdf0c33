"""The built-in stop hooks by name: pure functions from what an iteration did to a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.answers import StopDecision
from hookline.domain.excerpts import headed_excerpt
from hookline.hooks.builtin import stop_templates as templates
from hookline.hooks.builtin.evidence import Evidence, evidence
from hookline.hooks.builtin.stop_context import (
    MAX_PROMPT,
    MAX_REASON,
    Arguments,
    both_ends,
    bounded,
    escalation,
    read_arguments,
    read_context,
)

if TYPE_CHECKING:
    from hookline.hooks.builtin.stop_context import Result, Seen

MAX_SHORT = 120
_FIX = "Fix your work until these checks pass. Do not change the checks."

Preset = Callable[[dict[str, Any], Any], StopDecision]


class NoArguments(Arguments, frozen=True):
    """Nothing can be tuned."""


def default(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Promises first, then validation results; rules that pass end no work that is not done."""
    read_arguments(NoArguments, arguments)
    seen = read_context(context)
    by_results = _by_results(seen)
    if by_results and by_results.action == "complete" and seen.promised("CONTINUE"):
        by_results = StopDecision(
            action="continue", reason="Agent signaled more to do via <promise>CONTINUE</promise>"
        )
    return (
        _by_promise(seen)
        or by_results
        or StopDecision(action="continue", reason="Iteration in progress")
    )


def validation(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Only validation results count; none at all is not a pass."""
    read_arguments(NoArguments, arguments)
    return _by_results(read_context(context)) or StopDecision(
        action="continue", reason="No validation rules"
    )


def promise(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Only promises count: COMPLETE completes, ESCALATE and BLOCKED escalate."""
    read_arguments(NoArguments, arguments)
    return _by_promise(read_context(context)) or StopDecision(
        action="continue", reason="No promise detected"
    )


def _by_promise(seen: Seen) -> StopDecision | None:
    """Who promises both asks for help and is not done."""
    asked = escalation(seen)
    if asked is None and seen.promised("COMPLETE"):
        return StopDecision(
            action="complete",
            reason="Agent signaled completion via <promise>COMPLETE</promise>",
        )
    return asked


def _by_results(seen: Seen) -> StopDecision | None:
    results = seen.validation_results
    if not results:
        return None
    failing = [each for each in results if not each.passed]
    if not failing:
        return StopDecision(action="complete", reason=f"All validation rules pass ({len(results)})")
    told = ", ".join(_short(each) for each in failing)
    rules = "validation rule" if len(results) == 1 else "validation rules"
    fail = "fails" if len(failing) == 1 else "fail"
    lines = "\n".join(f"- {_long(each)}" for each in failing)
    return StopDecision(
        action="continue",
        reason=bounded(f"{len(failing)} of {len(results)} {rules} {fail}: {told}", MAX_REASON),
        next_prompt=bounded(f"{_FIX}\n{lines}", MAX_PROMPT),
    )


def _short(result: Result) -> str:
    said = both_ends(result.message or "", MAX_SHORT)
    return f"{result.rule_name} ({said})" if said else result.rule_name


def _long(result: Result) -> str:
    said = headed_excerpt(result.message or "")
    return f"{result.rule_name}: {said}" if said else result.rule_name


class StopHook(NamedTuple):
    """A built-in stop hook: what decides, what it can be told, whether it lives on results."""

    decide: Preset
    arguments: type[Arguments] = NoArguments
    needs_results: bool = False


STOP_BUILTINS: dict[str, StopHook] = {
    "default": StopHook(default),
    "validation": StopHook(validation, needs_results=True),
    "promise": StopHook(promise),
    "evidence": StopHook(evidence, Evidence, needs_results=True),
    "tdd": StopHook(templates.tdd, templates.Tdd),
    "security-remediation": StopHook(templates.security_remediation, templates.SecurityRemediation),
    "checkpoint": StopHook(templates.checkpoint, templates.Checkpoint),
    "coverage": StopHook(templates.coverage, templates.Coverage),
    "max-iterations": StopHook(templates.max_iterations, templates.MaxIterations),
    "files-changed": StopHook(templates.files_changed, templates.FilesChanged),
}
STOP_PRESETS: dict[str, Preset] = {name: each.decide for name, each in STOP_BUILTINS.items()}


def stop_hook_types() -> list[str]:
    """The names under which a built-in stop hook can be configured or registered."""
    return list(STOP_BUILTINS)


def check_arguments(name: str, arguments: Any) -> None:
    """Refuse arguments that the built-in of that name cannot use, with BadInput."""
    read_arguments(STOP_BUILTINS[name].arguments, arguments)
