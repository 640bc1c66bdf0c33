"""Work that people merge: its pull request is open, and the forge says what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.forge import TOLD, objections
from hookline.domain.repository import Refused
from hookline.domain.taskpage import task_page
from hookline.flows import prompts
from hookline.flows.forge_merge import objection
from hookline.flows.merge_facts import merged_by_others, prove_merged, since

if TYPE_CHECKING:
    from hookline.domain.forge import PullRequest
    from hookline.domain.tasks import Task
    from hookline.ports.work import Forge, Repository

MAX_TITLE = 120


class PeopleMerge:
    """Asks whether the work of a task was merged, and sees to it that it can be."""

    def __init__(
        self, repository: Repository, forge: Forge, task: Task, submitted: str | None
    ) -> None:
        self._repository, self._forge, self._task = repository, forge, task
        self._submitted = submitted

    async def ask(self, args: dict[str, Any], pull: PullRequest | None) -> dict[str, Any]:
        """`merged`, `refused` where it was closed, or `waits` with what a person can do."""
        head = str((await self._repository.describe(args["worktree"])).head)
        sha = await self._merged(args, pull, head)
        if sha is not None:
            merged = head if pull is None or pull.head is None else pull.head
            facts = merged_by_others(merged, is_judged=merged in (args["judged"], self._submitted))
            return {"status": "merged", "sha": sha, "head": head, **facts}
        if pull is not None and pull.state == "closed":
            why = f"pull request {pull.number} was closed without being merged"
            return {"status": "refused", "message": why}
        if pull is not None:
            heads = (*args.get("heads", ()), head, args["judged"], pull.head)
            said = [each for each in await self._forge.reviews(pull) if each.head in heads]
            if against := objections(said, head, args.get(TOLD, {})):
                return objection(against, head)
        # What the gates have not seen is shown to nobody.
        if head == args["judged"] and not args["skipPr"]:
            refused = await self._show(args, head, pull)
            if isinstance(refused, Refused):
                reason = f"{refused.reason}: {prompts.one_line(refused.output, 300)}"
                return {"status": "refused", "message": reason.removesuffix(": ")}
            pull = refused
        return {"status": "waits", "head": head, **self._way_on(args, pull)}

    async def _merged(
        self, args: dict[str, Any], pull: PullRequest | None, head: str
    ) -> str | None:
        """The commit that holds the work on the base, if somebody has merged it."""
        if pull is not None and pull.state == "merged":
            found = pull.merged_sha or head
            await prove_merged(self._repository, pull, found, head, args["base"])
            return found
        if self._forge.merges and pull is not None:
            return None  # it knows
        sha = await since(self._repository, head, args["base"])
        if sha is not None and pull is not None:
            await self._forge.merge(pull, sha, args["method"])
        return sha

    async def _show(
        self, args: dict[str, Any], head: str, pull: PullRequest | None
    ) -> PullRequest | Refused:
        """The pull request, open and with the newest commit."""
        remote = self._forge.push_remote
        if remote is not None and (pull is None or pull.head != head):
            pushed = await self._repository.push(args["worktree"], args["branch"], remote)
            if isinstance(pushed, Refused):
                return pushed
        if pull is not None:
            return pull
        title = prompts.one_line(self._task.goal, MAX_TITLE)
        body = prompts.capped(task_page(self._task))
        return await self._forge.open_pull_request(args["branch"], args["base"], title, body)

    def _way_on(self, args: dict[str, Any], pull: PullRequest | None) -> dict[str, Any]:
        if pull is not None and self._forge.merges:
            return {
                "message": f"pull request {pull.number} waits to be merged: {pull.url}",
                "command": f"gh pr merge {pull.number}",
                "prUrl": pull.url,
            }
        what = f"pull request {pull.number}" if pull is not None else args["branch"]
        return {
            "message": f"{what} waits to be merged into {args['base']}",
            "command": f"git switch {args['base']} && git merge --no-ff {args['branch']}",
            "prUrl": pull.url if pull is not None else None,
        }
