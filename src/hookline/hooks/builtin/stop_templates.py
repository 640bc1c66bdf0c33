"""Templates of stop hooks: ready-made answers to common loops, tuned by their arguments."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from hookline.domain.answers import StopDecision
from hookline.hooks.builtin.stop_context import (
    MAX_REASON,
    Arguments,
    Result,
    Seen,
    bounded,
    read_arguments,
    read_context,
)
from hookline.hooks.globs import glob_match

Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1, le=100_000)]


class Tdd(Arguments, frozen=True):
    """The rule that runs the tests, and what the agent is told while it fails."""

    rule: Name = "tests_pass"
    prompt: Name = "Fix failing tests and run again"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule that runs the tests."""
        return (self.rule,)


def tdd(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Go on until the tests pass."""
    given = read_arguments(Tdd, arguments)
    if read_context(context).passed(given.rule):
        return StopDecision(action="complete", reason="All tests pass")
    return StopDecision(action="continue", reason="Tests still failing", next_prompt=given.prompt)


class SecurityRemediation(Arguments, frozen=True):
    """The iteration that is the last one, and the rules that must pass."""

    iterations: Count = 10
    checks: Annotated[list[Name], Meta(min_length=1)] = field(
        default_factory=lambda: ["vulns_fixed", "sast_clean"]
    )

    @property
    def rules(self) -> tuple[str, ...]:
        """All of its rules."""
        return tuple(self.checks)


def security_remediation(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Go on until nothing is vulnerable any more, but not for ever."""
    given, seen = read_arguments(SecurityRemediation, arguments), read_context(context)
    if all(seen.passed(rule) for rule in given.checks):
        return StopDecision(action="complete", reason="All vulnerabilities remediated")
    if seen.iteration >= given.iterations:
        reason = "Max iterations reached - complex vulnerabilities may require manual review"
        return StopDecision(action="escalate", reason=reason)
    return StopDecision(action="continue", reason="Vulnerabilities remain")


class Checkpoint(Arguments, frozen=True):
    """When the checkpoint is made, and what it is called."""

    iteration: Count = 5
    phase: Name = "midpoint"
    milestone: Name = "halfway"


def checkpoint(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Make a checkpoint at one iteration; never complete."""
    given, seen = read_arguments(Checkpoint, arguments), read_context(context)
    if seen.iteration != given.iteration:
        return StopDecision(action="continue", reason="Iteration in progress")
    return StopDecision(
        action="continue",
        reason=f"{given.milestone.capitalize()} checkpoint",
        checkpoint_data={
            "executionPhase": given.phase,
            "executionStep": seen.iteration,
            "agentContext": {"milestone": given.milestone},
        },
    )


class Coverage(Arguments, frozen=True):
    """The least per cent, if it is more than the rule itself asks for, and the rule."""

    minimum: Annotated[float, Meta(ge=0, le=100)] | None = None
    rule: Name = "coverage"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule that measures."""
        return (self.rule,)


def coverage(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Go on until enough of the code is covered by tests."""
    given, seen = read_arguments(Coverage, arguments), read_context(context)
    found = next((r for r in seen.validation_results if r.rule_name == given.rule), None)
    lacking = _lacking(found, given)
    if lacking is None:
        return StopDecision(action="complete", reason="Coverage is high enough")
    return StopDecision(
        action="continue",
        reason=bounded(lacking, MAX_REASON),
        next_prompt=f"Add tests for what is not covered yet. {bounded(lacking, MAX_REASON)}",
    )


def _lacking(found: Result | None, given: Coverage) -> str | None:
    if found is None:
        return f"The rule '{given.rule}' has no result yet"
    if not found.passed:
        return f"Coverage is too low: {found.message or 'the rule failed'}"
    if given.minimum is None:
        return None
    if found.coverage is None:
        return f"The rule '{given.rule}' passed but tells no figure to compare with the minimum"
    if found.coverage < given.minimum:
        return f"Coverage is {found.coverage:g}%, less than {given.minimum:g}%"
    return None


class MaxIterations(Arguments, frozen=True):
    """How many iterations there may be."""

    iterations: Count = 10


def max_iterations(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Escalate once there were more iterations than that; never complete."""
    if read_context(context).iteration > read_arguments(MaxIterations, arguments).iterations:
        return StopDecision(
            action="escalate", reason="Too many iterations - may need different approach"
        )
    return StopDecision(action="continue", reason="Iteration in progress")


class FilesChanged(Arguments, frozen=True):
    """Patterns such as `src/**`; without any, every file counts."""

    files: list[Name] = field(default_factory=list)


def files_changed(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Go on while nothing was modified."""
    patterns = read_arguments(FilesChanged, arguments).files
    if _changed(read_context(context), patterns):
        return StopDecision(action="complete", reason="Files were modified")
    return StopDecision(action="continue", reason="No files modified yet")


def _changed(seen: Seen, patterns: list[str]) -> bool:
    if not patterns:
        return bool(seen.files_modified)
    return any(glob_match(path, each) for path in seen.files_modified for each in patterns)
