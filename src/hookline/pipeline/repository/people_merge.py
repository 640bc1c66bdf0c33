"""Work that people merge: its pull request is kept open, and the forge is asked about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.pages.taskpage import task_page
from hookline.domain.text.display import line_of
from hookline.domain.work.forge import PullRequest, objections
from hookline.domain.work.repository import Refused
from hookline.pipeline.repository.merge_facts import merged_by_others, prove_merged, since
from hookline.pipeline.repository.requests import WAITS, MergeResult, RepoRequest
from hookline.pipeline.repository.unmerged import objection, refused
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from hookline.domain.tasks import Task
    from hookline.pipeline.repository.effects import Workplace

MAX_TITLE = 120


class PeopleMerge:
    """Asks whether a task's work was merged, and keeps its pull request open and current."""

    def __init__(self, place: Workplace, task: Task, submitted: str | None) -> None:
        self._repository, self._forge, self._task = place.repository, place.forge, task
        self._submitted = submitted

    async def ask(self, asked: RepoRequest, pull: PullRequest | None) -> MergeResult:
        """`merged`, `refused` where it was closed, or `waits` with what a person can do."""
        head = str(await self._repository.head(asked.worktree))
        sha = await self._merged(asked, pull, head)
        if sha is not None:
            merged = head if pull is None or pull.head is None else pull.head
            is_judged = merged in (asked.judged, self._submitted)
            return merged_by_others(sha, merged, is_judged=is_judged)
        if pull is not None and pull.state == "closed":
            return refused(f"pull request {pull.number} was closed without being merged")
        if pull is not None:
            heads = (*asked.heads, head, asked.judged, pull.head)
            said = [each for each in await self._forge.reviews(pull) if each.head in heads]
            if against := objections(said, head, asked.told):
                return objection(against, head)
        # Nothing that the gates have not checked is published.
        if head == asked.judged and not asked.skip_pr:
            shown = await self._show(asked, head, pull)
            if isinstance(shown, Refused):
                reason = f"{shown.reason}: {line_of(shown.output, 300)}"
                return refused(reason.removesuffix(": "))
            pull = shown
        return self._way_on(asked, pull, head)

    async def _merged(self, asked: RepoRequest, pull: PullRequest | None, head: str) -> str | None:
        """The commit that contains the work on the base, if someone has merged it."""
        if pull is not None and pull.state == "merged":
            found = pull.merged_sha or head
            await prove_merged(self._repository, pull, found, head, asked.base)
            return found
        if self._forge.merges and pull is not None:
            return None  # it knows
        sha = await since(self._repository, head, asked.base)
        if sha is not None and pull is not None:
            await self._forge.merge(pull, sha, asked.method)
        return sha

    async def _show(
        self, asked: RepoRequest, head: str, pull: PullRequest | None
    ) -> PullRequest | Refused:
        """The pull request, open and with the newest commit."""
        remote = self._forge.push_remote
        if remote is not None and (pull is None or pull.head != head):
            pushed = await self._repository.pushes.push(asked.worktree, asked.branch, remote)
            if isinstance(pushed, Refused):
                return pushed
        if pull is not None:
            return pull
        title = line_of(self._task.goal, MAX_TITLE)
        body = prompts.capped(task_page(self._task))
        return await self._forge.open_pull_request(asked.branch, asked.base, title, body)

    def _way_on(self, asked: RepoRequest, pull: PullRequest | None, head: str) -> MergeResult:
        if pull is not None and self._forge.merges:
            message = f"pull request {pull.number} waits to be merged: {pull.url}"
            command = f"gh pr merge {pull.number}"
        else:
            what = f"pull request {pull.number}" if pull is not None else asked.branch
            message = f"{what} waits to be merged into {asked.base}"
            command = f"git switch {asked.base} && git merge --no-ff {asked.branch}"
        url = pull.url if pull is not None else None
        return MergeResult(status=WAITS, message=message, command=command, head=head, pr_url=url)
