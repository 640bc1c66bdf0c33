"""The stop hooks that are tuned by their arguments: `evidence`, where only proof completes a
promise, and templates, ready-made answers to common loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, field

from hookline.domain.hooks.answers import BESIDE, StopDecision
from hookline.domain.text.display import line_of, shortened
from hookline.domain.text.excerpts import both_ends, headed_excerpt
from hookline.domain.text.terminal import plural
from hookline.hooks.builtin.stop.context import (
    MAX_REASON,
    Arguments,
    continue_with,
    escalation,
    lost_start,
)
from hookline.hooks.language.globs import matches_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.hooks.builtin.stop.context import RuleResult, Seen, WorkSeen

Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1, le=100_000)]
_COMPLETE = "<promise>COMPLETE</promise>"


class Evidence(Arguments, frozen=True):
    """The validation rules that count as proof; without any, all rules."""

    checks: list[Name] = field(default_factory=list)


def evidence(seen: Seen, given: Evidence) -> StopDecision:
    """Complete only a promised, checked and real change, and keep the receipt.

    Escalation goes first: an agent that promises both is not done.
    """
    if (asked := escalation(seen) or lost_start(seen)) is not None:
        return asked
    wanted = given.checks
    missing = [*_checks(seen, wanted), *_work(seen.work), *_promise(seen)]
    if missing or seen.work is None:
        return not_yet(missing)
    if (shared := whose(seen.work)) is not None:
        return shared
    proof = [r for r in seen.validation_results if not wanted or r.rule_name in wanted]
    names = ", ".join(dict.fromkeys(result.rule_name for result in proof))
    reason = f"Proven: {names} passed on a diff of {plural(seen.work.changed_files, 'file')}"
    reason += seen.work.told_edits
    receipt = {
        "diffHash": seen.work.diff_hash,
        "changedFiles": seen.work.changed_files,
        "checks": [
            {"name": each.rule_name, "command": each.command, "exitCode": each.exit_code}
            for each in proof
        ],
        **seen.work.edited_tests,
    }
    return StopDecision("complete", shortened(reason, MAX_REASON), metadata={"receipt": receipt})


def _promise(seen: Seen) -> Iterator[str]:
    if not seen.promised("COMPLETE"):
        yield f"the promise: end with {_COMPLETE} once the work is done"


def _checks(seen: Seen, wanted: list[str]) -> Iterator[str]:
    if not wanted and not seen.validation_results:
        yield "a check: no validation rule has a result, and nothing is proven without one"
    results = {each.rule_name: each for each in seen.validation_results}
    # The first failure of a rule tells why.
    failed = [each for each in seen.validation_results if not each.passed]
    failures = {each.rule_name: each for each in reversed(failed)}
    for name in wanted or results:
        if name not in results:
            yield f"the check {name}: it has no result in this iteration"
        elif name in failures:
            why = failures[name].message
            said = f": {headed_excerpt(why)}" if why else ""
            yield f"the check {name}, which failed{said}"


def _work(work: WorkSeen | None) -> Iterator[str]:
    if work is None:
        yield "a diff: the context has no `work`, which a session adds by itself"
    elif not (work.in_repository or work.error):
        yield "a repository: outside one there is no diff, so nothing can be proven"
    elif work.in_repository and not work.stable:
        yield "checks of this state: files were edited after the checks began"
    else:
        yield from no_change(work)


def no_change(work: WorkSeen) -> Iterator[str]:
    """What is missing where nothing was changed, or where git cannot tell."""
    if work.error:
        yield f"a diff: {headed_excerpt(work.error)}"
    elif not (work.excused or (work.diff_hash and work.changed_files)):
        yield "a change: the diff is empty (ignored files and .hookline do not count)"


def whose(work: WorkSeen) -> StopDecision | None:
    """The decision that a person looks at a change that may be another session's."""
    if work.beside is None or work.excused:
        return None
    reason = (
        f"Not proven: another session, {line_of(work.beside, 80)}, works in this folder: whose"
        " change it is cannot be told; if it is right, complete the task yourself; give tasks a"
        " type, so that each has its own worktree"
    )
    return StopDecision("escalate", reason, metadata={BESIDE: work.beside})


def not_yet(missing: list[str]) -> StopDecision:
    """The decision that a promise is not believed yet, with what it lacks."""
    reason = "; ".join(both_ends(each, 200) for each in missing)
    lines = "\n".join(f"- {each}" for each in missing)
    told = f"The work does not count as done yet. Missing:\n{lines}"
    return continue_with(f"Not proven yet; missing: {reason}", told)


class Tdd(Arguments, frozen=True):
    """The rule that runs the tests, and what the agent is told while it fails."""

    rule: Name = "tests_pass"
    prompt: Name = "Fix failing tests and run again"


def tdd(seen: Seen, given: Tdd) -> StopDecision:
    """Continue until the tests pass."""
    if seen.passed(given.rule):
        return StopDecision("complete", "All tests pass")
    return StopDecision("continue", "Tests still failing", given.prompt)


class SecurityRemediation(Arguments, frozen=True):
    """The iteration that is the last one, and the rules that must pass."""

    iterations: Count = 10
    checks: Annotated[list[Name], Meta(min_length=1)] = field(
        default_factory=lambda: ["vulns_fixed", "sast_clean"]
    )


def security_remediation(seen: Seen, given: SecurityRemediation) -> StopDecision:
    """Continue until no vulnerability is left, up to a number of iterations."""
    if all(seen.passed(rule) for rule in given.checks):
        return StopDecision("complete", "All vulnerabilities remediated")
    if seen.iteration >= given.iterations:
        reason = "Max iterations reached - complex vulnerabilities may require manual review"
        return StopDecision("escalate", reason)
    return StopDecision("continue", "Vulnerabilities remain")


class PlannedCheckpoint(Arguments, frozen=True):
    """When the checkpoint is made, and what it is called."""

    iteration: Count = 5
    phase: Name = "midpoint"
    milestone: Name = "halfway"


def checkpoint(seen: Seen, given: PlannedCheckpoint) -> StopDecision:
    """Make a checkpoint at one iteration; never complete."""
    if seen.iteration != given.iteration:
        return StopDecision("continue", "Iteration in progress")
    return StopDecision(
        "continue",
        f"{given.milestone.capitalize()} checkpoint",
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


def coverage(seen: Seen, given: Coverage) -> StopDecision:
    """Continue until enough of the code is covered by tests."""
    found = next((r for r in seen.validation_results if r.rule_name == given.rule), None)
    lacking = _lacking(found, given)
    if lacking is None:
        return StopDecision("complete", "Coverage is high enough")
    reason = shortened(lacking, MAX_REASON)
    return StopDecision("continue", reason, f"Add tests for what is not covered yet. {reason}")


def _lacking(found: RuleResult | None, given: Coverage) -> str | None:
    if found is None:
        return f"The rule '{given.rule}' has no result yet"
    if not found.passed:
        return f"Coverage is too low: {found.message or 'the rule failed'}"
    if given.minimum is None:
        return None
    if found.coverage is None:
        return f"The rule '{given.rule}' passed but reports no figure to compare with the minimum"
    if found.coverage < given.minimum:
        return f"Coverage is {found.coverage:g}%, less than {given.minimum:g}%"
    return None


class MaxIterations(Arguments, frozen=True):
    """How many iterations there may be."""

    iterations: Count = 10


def max_iterations(seen: Seen, given: MaxIterations) -> StopDecision:
    """Escalate after that many iterations; never complete."""
    if seen.iteration > given.iterations:
        return StopDecision("escalate", "Too many iterations - may need different approach")
    return StopDecision("continue", "Iteration in progress")


class FilesChanged(Arguments, frozen=True):
    """Patterns such as `src/**`; without any, every file counts."""

    files: list[Name] = field(default_factory=list)


def files_changed(seen: Seen, given: FilesChanged) -> StopDecision:
    """Continue while no file was modified."""
    if any(not given.files or matches_any(path, given.files) for path in seen.files_modified):
        return StopDecision("complete", "Files were modified")
    return StopDecision("continue", "No files modified yet")
