"""The work itself: folders, the repository, and where pull requests live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from hookline.domain.forge import (
        CheckState,
        MergeMethod,
        MergeOutcome,
        MergePlan,
        PullRequest,
        Remark,
        Review,
    )
    from hookline.domain.repository import (
        BaseMoved,
        Cleaned,
        Commit,
        Elsewhere,
        FileChange,
        Finding,
        Kept,
        MergeConflict,
        Merged,
        OpenConflict,
        Prepared,
        Problem,
        Pushed,
        RebaseConflict,
        Rebased,
        Refused,
        RepositoryState,
        Worktree,
    )
    from hookline.domain.work import WorkState, WorkTree


class Work(Protocol):
    """What an agent did to the folder that it works in."""

    async def state(self, folder: str) -> WorkState:
        """The commit, and the files that differ from it."""
        ...

    async def between(self, folder: str, before: WorkState, after: WorkState) -> list[str]:
        """The files that changed from one state to the other."""
        ...

    async def tree(self, folder: str, base: str | None = None) -> WorkTree:
        """The content of a folder, and how it differs from a tree of before."""
        ...


class Forge(Protocol):
    """Where pull requests live.

    Each act first looks whether it is done, so that a repeat after a crash never does it twice.
    All of them raise ForgeError: ForgeTemporary when a later try may succeed.
    """

    name: str
    push_remote: str | None
    merges: bool

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        """The open pull request of a branch into a base."""
        ...

    async def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now, also when it is merged or closed; else ForgeMissing."""
        ...

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """The open pull request of a branch into a base, opened now if there is none."""
        ...

    async def update_pull_request(
        self, number: int, *, title: str | None = None, body: str | None = None
    ) -> PullRequest:
        """Change what is given; the pull request as it is then."""
        ...

    async def checks(self, of: PullRequest | str) -> CheckState:
        """What the checks of a commit, or of a pull request's head, say."""
        ...

    async def reviews(self, pull_request: PullRequest) -> list[Review]:
        """The last approval or request for changes of each person who may write to the project."""
        ...

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

        Where the forge `merges`, `sha` is the head that was judged, `message` that of the commit
        that it makes; `check` is asked before every try, and raises if there must be none. The
        pull request is only merged into the base that is given with it. HeadMoved is raised when
        the head is another one, NotMergeable when it does not fit on the base, MergeWaits while
        reviews or checks are missing. Where it does not merge, git has merged, and `sha` is the
        commit that holds the work on the base: the forge records it.
        """
        ...

    async def problems(self, plan: MergePlan) -> list[Problem]:
        """What stands in the way of what the settings want; asked before an agent is paid."""
        ...

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

        `remarks` are about the commit `head`: each stands at its line where the forge shows that
        line of it, else below the text.
        """
        ...


class Repository(Protocol):
    """The git repository of a project: a worktree per task, and what becomes of the work in it.

    Every act looks first, acts, and proves what it did. Repeated after a crash it is harmless;
    when it fails, the tree is clean and no commit is lost. `base` is the name of a branch.
    """

    async def describe(self, folder: str | None = None) -> RepositoryState:
        """The state of the repository that a folder lies in, with what stands in the way."""
        ...

    async def base_branch(self) -> str:
        """The branch that finished work goes into."""
        ...

    async def base_head(self, base: str) -> str:
        """The newest commit of a base, as its remote has it now."""
        ...

    async def holds(self, base: str, commit: str) -> bool:
        """Whether a base, as its remote has it now, holds a commit."""
        ...

    async def tree_of(self, commit: str) -> str:
        """The id of all that a commit holds; two commits with one content have one id."""
        ...

    async def control_state(self) -> dict[str, str]:
        """A stamp for each file and each setting that steers git for all worktrees."""
        ...

    async def worktree(self, task_id: str, base: str | None = None) -> Worktree:
        """The task's worktree: the one it has, repaired if need be, or a new one off the base."""
        ...

    async def worktrees(self) -> list[Worktree]:
        """Every task's worktree, and every branch of a task whose worktree is gone."""
        ...

    async def unsaved(self, task_id: str) -> tuple[str, ...]:
        """What would be lost with a task's worktree."""
        ...

    async def clean(self, task_id: str) -> Cleaned | Kept:
        """Remove a task's worktree if nothing in it is unsaved, and its branch once merged."""
        ...

    async def check(self, folder: str, branch: str | None = None) -> None:
        """Verify that a folder is a checkout to write in, and of that branch; else say what it is.

        What a crash of ours left under way there is undone first.
        """
        ...

    async def commit_all(
        self,
        folder: str,
        message: str,
        author: str | None = None,
        *,
        branch: str | None = None,
    ) -> str | None:
        """Commit all that is not ignored; the commit, or None when there was nothing."""
        ...

    async def uncommitted_findings(self, folder: str, largest: int) -> tuple[Finding, ...]:
        """What must not be committed as it lies in a checkout; 0 is any size."""
        ...

    async def conflict_findings(self, folder: str, largest: int) -> tuple[Finding, ...]:
        """What must not be committed of how a conflict was resolved; 0 is any size."""
        ...

    async def committed_findings(self, folder: str, base: str, largest: int) -> tuple[Finding, ...]:
        """What must not be merged of the commits that the base has not; 0 is any size."""
        ...

    async def work_elsewhere(self, folder: str, base: str, start: str | None) -> Elsewhere | None:
        """Where the work went, of a branch without commits of its own that began at `start`."""
        ...

    async def commits_ahead(self, folder: str, base: str, head: str = "HEAD") -> int:
        """How many commits the work in a folder has that the base has not."""
        ...

    async def commits(self, folder: str, base: str, limit: int = 100) -> list[Commit]:
        """The newest commits that the work in a folder has and the base has not, oldest first."""
        ...

    async def changed_files(self, folder: str, base: str, head: str = "HEAD") -> list[str]:
        """The files that the commits in a folder change, from where they left the base."""
        ...

    async def changed_between(self, older: str, newer: str) -> list[str]:
        """The project's files in which two commits differ, each by its path from the root."""
        ...

    async def changes(self, folder: str, base: str, head: str = "HEAD") -> list[FileChange]:
        """The files that the commits in a folder change, and how many lines of each."""
        ...

    async def diff(self, folder: str, base: str, limit: int = 65536, head: str = "HEAD") -> str:
        """What the commits in a folder change; of a longer diff the beginning and the end."""
        ...

    async def messages(self, folder: str, base: str, head: str, limit: int) -> dict[str, str]:
        """What each commit says that the base has not, by its id; more than `limit` is an error."""
        ...

    async def contents(
        self, folder: str, commit: str, names: Sequence[str], limit: int
    ) -> dict[str, bytes]:
        """Files as a commit holds them, as many as have place in `limit` bytes together."""
        ...

    async def size_of(self, folder: str, commit: str, names: Sequence[str]) -> int:
        """How many bytes files have together, as a commit holds them."""
        ...

    async def merge_base(self, folder: str, base: str) -> str:
        """The commit at which the work in a folder left the base."""
        ...

    async def rebase(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | RebaseConflict:
        """Move the commits in a folder onto the newest base; after a conflict all is as before."""
        ...

    async def add_trailers(
        self, folder: str, base: str, trailers: Sequence[str], *, branch: str, head: str
    ) -> str:
        """Give every commit up to `head` that the base has not these trailers; the new head."""
        ...

    async def open_conflict(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | OpenConflict:
        """Merge the newest base into the files of a worktree, for somebody to resolve there."""
        ...

    async def conflict(
        self, folder: str, base: str, *, answered: bool = True
    ) -> OpenConflict | None:
        """The conflict that is open in a worktree, with what is still to do about it.

        Not `answered`: no turn about it has ended well, so nobody has said that it is resolved.
        """
        ...

    async def close_conflict(self, folder: str) -> Refused | None:
        """Commit how a conflict was resolved, on top of the base; what a hook of git says to it."""
        ...

    async def drop_conflict(self, folder: str) -> str | None:
        """Bring a worktree back to before a conflict was opened; the ref that keeps the edits."""
        ...

    async def push(self, folder: str, branch: str, remote: str | None = None) -> Pushed | Refused:
        """Bring the remote's branch to ours, never over commits of others."""
        ...

    async def remove_pushed(self, branch: str, remote: str) -> str | None:
        """Remove a branch that we pushed from the remote; why it stays, if it does."""
        ...

    async def merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Merged | MergeConflict | BaseMoved | Refused:
        """Merge a commit into the base; of one that is merged already, say since when."""
        ...

    async def prepare_merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Prepared | MergeConflict:
        """Build what the base would become, to be tested in `scratch` before it is landed."""
        ...

    async def land(self, prepared: Prepared) -> Merged | BaseMoved | Refused:
        """Move the base to what was prepared, if it still is where it was then."""
        ...

    def scratch(self, sha: str) -> AbstractAsyncContextManager[str]:
        """A checkout of one commit that is gone at the end of the block; its path."""
        ...
