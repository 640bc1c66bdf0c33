"""What is known of a commit that is merged: whether the gates judged it, and what tested it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.forge import ForgeRejected, ForgeTemporary
from hookline.domain.repository import MergeConflict

if TYPE_CHECKING:
    from hookline.domain.forge import PullRequest
    from hookline.domain.runs import Run
    from hookline.flows.effects import Surroundings
    from hookline.ports.work import Repository

# What tested the result of a run's merge, and what we made of the commit that was judged.
TESTED, REBASED = "hookline.tested", "hookline.rebased"
BY_OTHERS = "it was merged by somebody else"


class MergeFacts:
    """Compares what was merged with what one run has judged and tested."""

    def __init__(self, around: Surroundings, run: Run, args: dict[str, Any]) -> None:
        assert around.repository is not None
        self._around, self._run, self._args = around, run, args
        self._repository = around.repository

    def is_judged(self, head: str | None) -> bool:
        """Whether a commit is the one that passed the gates, or what we made of it."""
        judged = self._args.get("head")  # an effect that an older Hookline asked for has none
        ours = self._value(REBASED)
        return judged in (None, head) or ours == {"from": judged, "head": head}

    async def of(self, head: str | None, sha: str) -> dict[str, Any]:
        """What tested a commit that was merged as `sha`; `unjudged` if it is not what we judged."""
        noted = self._value(TESTED)
        if not isinstance(noted, dict) or noted.get("head") != head:
            return merged_by_others(head, is_judged=self.is_judged(head))
        facts = {name: noted[name] for name in ("testedBy", "untested")}
        if facts["untested"] or noted.get("tree") == await self._repository.tree_of(sha):
            return facts
        why = f"{self._args['base']} moved while it was merged: the result is not what was tested"
        return {"testedBy": [], "untested": why, "unjudged": True}

    async def of_pull(self, pull: PullRequest, sha: str, head: str) -> dict[str, Any]:
        """The same for a pull request that was merged as `sha`, which must hold the work `head`."""
        await prove_merged(self._repository, pull, sha, head, self._args["base"])
        return await self.of(pull.head, sha)

    def _value(self, name: str) -> Any:
        with self._around.store.read() as view:
            return view.runs.value(self._run.run_id, name)


def merged_by_others(head: str | None, *, is_judged: bool) -> dict[str, Any]:
    """What is known of a merge that was not ours."""
    if is_judged:
        return {"testedBy": [], "untested": BY_OTHERS}
    why = f"{BY_OTHERS} at {str(head)[:12]}, which no gate has judged"
    return {"testedBy": [], "untested": why, "unjudged": True}


async def since(repository: Repository, head: str, base: str) -> str | None:
    """The commit by which the base has all of the work; None if it lacks any."""
    # By a squash nothing is added any more, however the work was merged.
    built = await repository.prepare_merge(head, base, "", "squash")
    if isinstance(built, MergeConflict) or not (built.merged or built.sha == built.base_head):
        return None
    return built.sha


async def prove_merged(
    repository: Repository, pull: PullRequest, sha: str, head: str, base: str
) -> None:
    """Raise unless the base holds what a forge says it merged, and all of the work `head`."""
    if not await repository.holds(base, sha):
        raise ForgeTemporary(
            f"pull request {pull.number} is said to be merged as {sha[:12]}, but {base} does not"
            " hold that commit"
        )
    if pull.head not in (None, head) and await since(repository, head, base) is None:
        raise ForgeRejected(
            f"pull request {pull.number} was merged by somebody else at {str(pull.head)[:12]},"
            f" without all of the work up to {head[:12]}"
        )
