"""Work that is not merged, or not yet: the result that the flow gets for each reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.display import line_of
from hookline.domain.work.forge import TOLD, ForgeTemporary, MergeWaits, Review
from hookline.hooks.builtin.gates.common import pause_until
from hookline.hooks.builtin.gates.conflict_prompts import found_prompt, named_conflict
from hookline.hooks.builtin.gates.people import changes_wanted
from hookline.pipeline.repository.requests import WAITS, MergeResult, RepoRequest

if TYPE_CHECKING:
    from hookline.domain.work.repository import ConflictFile, Refused
    from hookline.ports.repository import Repository

CHECKS_WAIT, PEOPLE_WAIT = 30.0, 120.0
MAX_WORDS = 1000


def refused(why: str) -> MergeResult:
    """A merge that only a person can fix."""
    return MergeResult(status="refused", message=why)


def conflicting(
    base: str, onto: str, files: tuple[ConflictFile, ...], *, is_yours: bool
) -> MergeResult:
    """The result of a merge in conflict: `onto` if it can be opened for an agent."""
    return MergeResult(
        status="conflict",
        message=named_conflict(base, files),
        remediation_prompt=found_prompt(base, onto, files, is_yours=is_yours),
        onto=None if is_yours else onto,
    )


def objection(against: list[Review], head: str) -> MergeResult:
    """Reviews that ask for changes, as a failure for an agent to fix."""
    answer = changes_wanted(against, head)
    return MergeResult(
        status="failed",
        message=answer.message,
        remediation_prompt=answer.remediation_prompt,
        head=head,
        told=answer.context[TOLD],
    )


def waits(
    message: str, waits_for: str, head: str | None, pause: float | None = None
) -> MergeResult:
    """A merge that cannot be made yet: who it waits for, its commit, and when to ask again."""
    again = pause or CHECKS_WAIT
    return MergeResult(
        status=WAITS, message=message, waits_for=waits_for, retry_after=again, head=head
    )


async def not_yet(
    repository: Repository, asked: RepoRequest, problem: ForgeTemporary | MergeWaits
) -> MergeResult:
    """A forge that does not merge now, for a temporary reason."""
    head = await repository.head(asked.worktree)
    if isinstance(problem, ForgeTemporary):
        return waits(problem.message, "forge", head, pause_until(problem.until, CHECKS_WAIT))
    if problem.for_people:
        return waits(problem.message, "person", head, PEOPLE_WAIT)
    return waits(problem.message, "checks", head)


def refused_by_git(found: Refused) -> MergeResult:
    """A push or update that git, a remote or one of its hooks refused."""
    words = line_of(found.output, MAX_WORDS)
    return MergeResult(
        status="refused",
        kind=found.kind,
        message=f"{found.reason}: {words}".removesuffix(": "),
        checkout=found.checkout if found.paths else None,
        paths=list(found.paths),
    )
