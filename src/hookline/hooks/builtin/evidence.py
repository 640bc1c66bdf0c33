"""The stop hook `evidence`: a promise is a claim, and only proof completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, field

from hookline.domain.answers import StopDecision
from hookline.domain.excerpts import headed_excerpt
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
    from collections.abc import Iterator

    from hookline.hooks.builtin.stop_context import Result, Seen, Work

_PROMISE = "<promise>COMPLETE</promise>"


class Evidence(Arguments, frozen=True):
    """The validation rules that count as proof; without any, all rules."""

    checks: list[Annotated[str, Meta(min_length=1)]] = field(default_factory=list)

    @property
    def rules(self) -> tuple[str, ...]:
        """The named rules."""
        return tuple(self.checks)


def evidence(context: dict[str, Any], arguments: Any = None) -> StopDecision:
    """Complete only a promised, checked and real change, and keep the receipt.

    Escalation goes first: who promises both is not done.
    """
    seen, wanted = read_context(context), read_arguments(Evidence, arguments).checks
    asked = escalation(seen)
    if asked is not None:
        return asked
    missing = [*_promise(seen), *_checks(seen, wanted), *_work(seen.work)]
    if missing or seen.work is None:
        return _not_yet(missing)
    proof = [r for r in seen.validation_results if not wanted or r.rule_name in wanted]
    names = ", ".join(dict.fromkeys(result.rule_name for result in proof))
    count = seen.work.changed_files
    reason = f"Proven: {names} passed on a diff of {count} {'file' if count == 1 else 'files'}"
    return StopDecision(
        action="complete",
        reason=bounded(reason, MAX_REASON),
        metadata={"receipt": _receipt(seen.work, proof)},
    )


def _promise(seen: Seen) -> Iterator[str]:
    if not seen.promised("COMPLETE"):
        yield f"the promise: end with {_PROMISE} once the work is done"


def _checks(seen: Seen, wanted: list[str]) -> Iterator[str]:
    if not wanted and not seen.validation_results:
        yield "a check: no validation rule has a result, and nothing is proven without one"
    results = {result.rule_name: result for result in seen.validation_results}
    for name in wanted or results:
        if name not in results:
            yield f"the check {name}: it has no result in this iteration"
        elif not seen.passed(name):
            failed = next(
                r for r in seen.validation_results if r.rule_name == name and not r.passed
            )
            said = f": {headed_excerpt(failed.message)}" if failed.message else ""
            yield f"the check {name}, which failed{said}"


def _work(work: Work | None) -> Iterator[str]:
    if work is not None and work.error:
        yield f"a diff: {headed_excerpt(work.error)}"
    elif work is None:
        yield "a diff: what is to be judged has no `work`, which a session adds by itself"
    elif not work.in_repository:
        yield "a repository: outside of one there is no diff, so nothing can be proven"
    elif not work.diff_hash or work.changed_files < 1:
        yield "a change: the diff is empty"
    elif not work.stable:
        yield "checks of this state: files were edited after the checks began"


def _not_yet(missing: list[str]) -> StopDecision:
    reason = "; ".join(both_ends(each, 200) for each in missing)
    lines = "\n".join(f"- {each}" for each in missing)
    return StopDecision(
        action="continue",
        reason=bounded(f"Not proven yet; missing: {reason}", MAX_REASON),
        next_prompt=bounded(f"The work does not count as done yet. Missing:\n{lines}", MAX_PROMPT),
    )


def _receipt(work: Work, proof: list[Result]) -> dict[str, Any]:
    return {
        "diffHash": work.diff_hash,
        "changedFiles": work.changed_files,
        "checks": [
            {"name": each.rule_name, "command": each.command, "exitCode": each.exit_code}
            for each in proof
        ],
    }
