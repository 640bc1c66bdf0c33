"""The work itself: what an agent did to its folder, and where pull requests live."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.domain.text.cleaning import Cleaner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from hookline.domain.work.forge import (
        CheckState,
        MergeMethod,
        MergeOutcome,
        MergePlan,
        PullRequest,
        Remark,
        Review,
    )
    from hookline.domain.work.repository import SetupProblem, WorkState, WorkTree


class Work(Protocol):
    """What an agent did to the folder that it works in."""

    async def state(self, folder: str) -> WorkState:
        """The commit, and the files that differ from it."""

    async def between(self, folder: str, before: WorkState, after: WorkState) -> list[str]:
        """The files that changed from one state to the other."""

    async def tree(
        self, folder: str, base: str | None = None, counted: Sequence[str] = ()
    ) -> WorkTree:
        """The content of a folder, and how it differs from a tree of before.

        The edited lines of the `counted` files are counted.
        """


class Forge(Protocol):
    """Where pull requests live.

    Each act first looks whether it is done, so that a repeat after a crash never does it twice.
    All of them raise ForgeError: ForgeTemporary when a later try may succeed. `has_checks` is
    whether commits are checked there, `has_reviews` whether people review there: otherwise nobody
    waits for checks, and people approve with `gate approve`.
    """

    name: str
    push_remote: str | None
    merges: bool
    has_checks: bool
    has_reviews: bool

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        """The open pull request of a branch into a base."""

    async def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now, also when it is merged or closed; else ForgeMissing."""

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """The open pull request of a branch into a base, opened now if there is none."""

    async def update_pull_request(
        self, number: int, *, title: str | None = None, body: str | None = None
    ) -> PullRequest:
        """Change what is given; the pull request as it is then."""

    async def checks(self, of: PullRequest | str, *, base: str | None = None) -> CheckState:
        """What the checks of a commit, or of a pull request's head, say.

        Checks that must still come are pending: those that have not begun, and those that the
        rules of `base` (of a pull request: of that request's base) require.
        """

    async def reviews(self, pull_request: PullRequest) -> list[Review]:
        """The last approval or request for changes of each person who may write to the project.

        Also their comments, unless they approved later.
        """

    async def merge(
        self,
        pull_request: PullRequest,
        sha: str,
        method: MergeMethod,
        message: str = "",
        *,
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> MergeOutcome:
        """Merge, or find that it is merged.

        Where the forge `merges`, `sha` is the head that was checked, `message` that of the commit
        that it makes; `check` is asked before every try, and raises if there must be none. The
        pull request is only merged into the base that is given with it. HeadMoved is raised when
        the head is another one, NotMergeable when it does not fit on the base, MergeWaits while
        reviews or checks are missing. Where it does not merge, git has merged, and `sha` is the
        commit that holds the work on the base: the forge records it.
        """

    async def problems(self, plan: MergePlan) -> list[SetupProblem]:
        """What prevents what the settings want; asked before an agent is paid."""

    async def comment(
        self,
        pull_request: PullRequest,
        text: str,
        *,
        key: str | None = None,
        head: str | None = None,
        remarks: Sequence[Remark] = (),
    ) -> None:
        """Comment once per key; without a key, once per text.

        `remarks` are about the commit `head`: each is at its line where the forge shows that
        line of it, else below the text.
        """


class SharedPulls(Protocol):
    """Records of pull requests that several machines share."""

    def alone(self) -> AbstractContextManager[None]:
        """While nobody else changes them."""

    def read(self, number: int) -> bytes | None:
        """One record; None if there is none."""

    def open_of(self, branch: str, base: str) -> bytes | None:
        """The newest open one of a branch into a base."""

    def last(self) -> int:
        """The newest number; 0 if there is none."""

    def write(self, number: int, branch: str, base: str, is_open: bool, data: bytes) -> None:
        """One record as it is now; only while nobody else changes them."""


class ForgeSite(msgspec.Struct, frozen=True, kw_only=True):
    """What a forge is opened with: where it is, as far as the project and its settings say.

    `folder` is Hookline's own in the project, `remote` the git remote that work is pushed to and
    `remote_url` tells its URL. `api` and `options` are those of the section `gates`.
    `pulls` are the records that machines share which share the store; None if they do not.
    """

    folder: str
    remote: str | None
    remote_url: Callable[[], Awaitable[str]]
    environ: Mapping[str, str]
    api: str | None = None
    options: Mapping[str, Any] = {}
    cleaner: Cleaner | None = None
    pulls: SharedPulls | None = None


class ForgeKind(Protocol):
    """A sort of forge: a module, or what an entry point of `hookline.forges` names.

    `MERGES` says whether the forge merges, else git does; `REMOTE` is the remote that it needs
    where the settings name none; without either nobody is asked for `problems`. `CHECKS` and
    `REVIEWS` are `has_checks` and `has_reviews` of the forge. It may have `OPTIONS`, the type of
    `options`.
    """

    MERGES: bool
    REMOTE: str | None
    CHECKS: bool
    REVIEWS: bool

    async def open_forge(self, site: ForgeSite) -> Forge:
        """The forge of a project; ForgeError if the settings do not fit."""


class MergeTrust(Protocol):
    """Compares the changes of a merge with what the user has trusted."""

    def may_concern(self, names: Sequence[str]) -> bool:
        """Whether one of these files could be covered, now or after the merge."""

    def other_scripts(self, worktree: str) -> set[str]:
        """The covered scripts of the project of which a worktree holds another version."""

    def untrusted(self, folder: str, names: Sequence[str]) -> list[str]:
        """The covered files of a merge, checked out in a folder, that nobody has trusted yet."""
