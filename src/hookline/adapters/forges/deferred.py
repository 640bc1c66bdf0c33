"""A forge that is reached when it is first needed: most runs never need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.domain.forge import (
        CheckState,
        MergeMethod,
        MergeOutcome,
        MergePlan,
        PullRequest,
        Remark,
        Review,
    )
    from hookline.domain.repository import Problem
    from hookline.ports.work import Forge


class DeferredForge:
    """The forge that `reach` finds."""

    def __init__(
        self,
        name: str,
        push_remote: str | None,
        merges: bool,
        reach: Callable[[], Awaitable[Forge]],
    ) -> None:
        self.name = name
        self.push_remote = push_remote
        self.merges = merges
        self._reach = reach
        self._found: Forge | None = None

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        """The open pull request of a branch into a base."""
        return await (await self._forge()).find_pull_request(branch, base)

    async def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now."""
        return await (await self._forge()).pull_request(number)

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """The open pull request of a branch into a base, opened now if there is none."""
        return await (await self._forge()).open_pull_request(branch, base, title, body)

    async def update_pull_request(
        self, number: int, *, title: str | None = None, body: str | None = None
    ) -> PullRequest:
        """Change what is given; the pull request as it is then."""
        return await (await self._forge()).update_pull_request(number, title=title, body=body)

    async def checks(self, of: PullRequest | str) -> CheckState:
        """What the checks of a commit, or of a pull request's head, say."""
        return await (await self._forge()).checks(of)

    async def reviews(self, pull_request: PullRequest) -> list[Review]:
        """What people who may write to the project said last."""
        return await (await self._forge()).reviews(pull_request)

    async def merge(
        self,
        pull_request: PullRequest,
        sha: str,
        method: MergeMethod,
        message: str = "",
        *,
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> MergeOutcome:
        """Merge, or find that it is merged."""
        forge = await self._forge()
        return await forge.merge(pull_request, sha, method, message, check=check)

    async def problems(self, plan: MergePlan) -> list[Problem]:
        """What stands in the way of what the settings want."""
        return await (await self._forge()).problems(plan)

    async def comment(
        self,
        pull_request: PullRequest,
        text: str,
        *,
        key: str | None = None,
        head: str | None = None,
        remarks: Sequence[Remark] = (),
    ) -> None:
        """Comment once per key; without a key, once per text."""
        forge = await self._forge()
        await forge.comment(pull_request, text, key=key, head=head, remarks=remarks)

    async def _forge(self) -> Forge:
        if self._found is None:
            self._found = await self._reach()
        return self._found
