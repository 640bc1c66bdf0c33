"""What is known about a merged commit: whether the gates checked it, and what tested it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.work.forge import ForgeRejected, ForgeTemporary, PullRequest
from hookline.domain.work.repository import MergeConflict
from hookline.pipeline.repository.requests import MergeResult, RepoRequest

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.pipeline.repository.effects import Workplace
    from hookline.ports.repository import Repository

# What tested the result of a run's merge, and what we made of the commit that was checked.
TESTED, REBASED = "hookline.tested", "hookline.rebased"
# Commits below the merge that no gate has checked.
BENEATH = "hookline.beneath"
BY_OTHERS = "it was merged by someone else"


class MergeFacts:
    """Compares what was merged with what one run has checked and tested."""

    def __init__(self, place: Workplace, run: Run, asked: RepoRequest) -> None:
        self._around, self._run, self._asked = place.around, run, asked
        self._repository = place.repository

    def is_judged(self, head: str | None) -> bool:
        """Whether a commit is the one that passed the gates, or what we made of it."""
        judged = self._asked.head  # an effect that an older Hookline asked for has none
        ours = self._value(REBASED)
        return judged in (None, head) or ours == {"from": judged, "head": head}

    async def of(self, head: str | None, sha: str) -> MergeResult:
        """What tested a commit that was merged as `sha`; `unjudged` if no gate checked it."""
        noted = self._value(TESTED)
        if not isinstance(noted, dict) or noted.get("head") != head:
            return merged_by_others(sha, head, is_judged=self.is_judged(head))
        by, untested = noted["testedBy"], noted["untested"]
        if untested or noted.get("tree") == await self._repository.tree_of(sha):
            return MergeResult(status="merged", sha=sha, tested_by=by, untested=untested)
        why = f"{self._asked.base} moved while it was merged: the result is not what was tested"
        return MergeResult(status="merged", sha=sha, untested=why, unjudged=True)

    async def of_pull(self, pull: PullRequest, sha: str, head: str) -> MergeResult:
        """The same for a pull request merged as `sha`, which must contain the work `head`."""
        await prove_merged(self._repository, pull, sha, head, self._asked.base)
        return await self.of(pull.head, sha)

    def beneath(self) -> list[str]:
        """The commits that the base was moved to behind its checkout, before this merge."""
        return list(self._value(BENEATH) or ())

    def _value(self, name: str) -> Any:
        with self._around.store.read() as view:
            return view.runs.value(self._run.run_id, name)


def merged_by_others(sha: str, head: str | None, *, is_judged: bool) -> MergeResult:
    """What is known about a merge by someone else."""
    why = BY_OTHERS
    if not is_judged:
        why = f"{BY_OTHERS} at {str(head)[:12]}, which no gate has checked"
    return MergeResult(status="merged", sha=sha, untested=why, unjudged=not is_judged)


async def since(repository: Repository, head: str, base: str) -> str | None:
    """The commit by which the base has all of the work; None if it lacks any."""
    # Squashing the work onto the base adds nothing if it was merged in any way.
    built = await repository.merges.prepare(head, base, "", "squash")
    if isinstance(built, MergeConflict) or not (built.merged or built.sha == built.base_head):
        return None
    return built.sha


async def prove_merged(
    repository: Repository, pull: PullRequest, sha: str, head: str, base: str
) -> None:
    """Raise unless the base contains what a forge says it merged, and all of the work `head`."""
    if not await repository.bases.holds(base, sha):
        raise ForgeTemporary(
            f"pull request {pull.number} is reported as merged by {sha[:12]}, but {base} does not"
            " contain that commit"
        )
    if pull.head not in (None, head) and await since(repository, head, base) is None:
        raise ForgeRejected(
            f"pull request {pull.number} was merged by someone else at {str(pull.head)[:12]},"
            f" without all of the work up to {head[:12]}"
        )
