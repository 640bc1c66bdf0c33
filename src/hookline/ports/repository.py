"""The git repository of a project, as small parts that each do one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractAsyncContextManager

    from hookline.domain.work.forge import MergeMethod
    from hookline.domain.work.places import Restored, TakenCopy, WorkCopy
    from hookline.domain.work.repository import (
        BaseMoved,
        Cleaned,
        Commit,
        CommitMessage,
        CommitWithParents,
        Comparison,
        Elsewhere,
        FileChange,
        Kept,
        MergeConflict,
        Merged,
        OpenConflict,
        Prepared,
        Pushed,
        RebaseConflict,
        Rebased,
        Refused,
        RepositoryState,
        SetupProblem,
        Span,
        WorkFinding,
        Worktree,
    )

    # Which of the untracked files in a worktree, named from its top, must not leave it.
    Unfit = Callable[[str, Sequence[str]], list[str]]


class Bases(Protocol):
    """Which branch work goes into, and where it is now. `base` is the name of a branch."""

    async def branch(self) -> str:
        """The branch that finished work goes into."""

    @property
    def is_chosen(self) -> bool:
        """Whether the base is known without a look at the repository."""

    async def is_named(self) -> bool:
        """Whether the base was chosen, or the remote says what it is."""

    async def unborn_branch(self) -> str | None:
        """The branch that the first commit will be on; None once there is a commit."""

    async def head(self, base: str) -> str:
        """The newest commit of a base, as its remote has it now."""

    async def holds(self, base: str, commit: str) -> bool:
        """Whether a base, as its remote has it now, holds a commit."""


class History(Protocol):
    """What work is, compared with its base."""

    async def merge_base(self, folder: str, base: str, head: str = "HEAD") -> str:
        """The commit at which the work in a folder left the base."""

    async def commits_ahead(self, folder: str, base: str, head: str = "HEAD") -> int:
        """How many commits the work in a folder has that the base has not."""

    async def commits(self, folder: str, base: str, limit: int = 100) -> list[Commit]:
        """The newest commits that the work in a folder has and the base has not, oldest first."""

    async def changed_files(self, folder: str, base: str, head: str = "HEAD") -> list[str]:
        """The files that the commits in a folder change, from where they left the base."""

    async def changed_between(self, older: str, newer: str) -> list[str]:
        """The project's files in which two commits differ, each by its path from the root."""

    async def changes(self, folder: str, base: str, head: str = "HEAD") -> list[FileChange]:
        """The files that the commits in a folder change, and how many lines of each."""

    async def diff(self, folder: str, base: str, limit: int = 65536, head: str = "HEAD") -> str:
        """What the commits in a folder change; of a longer diff the beginning and the end."""

    async def steps(self, folder: str, base: str, head: str) -> list[CommitWithParents]:
        """Every commit up to `head` that the base has not, oldest first, with its parents."""

    async def diff_between(self, folder: str, older: str, newer: str, limit: int) -> str:
        """What changed from a commit to a later one; of a longer diff both ends."""

    async def comparison(self, older: str, newer: str, limit: int = 0) -> Comparison:
        """How two commits or recorded trees differ, whichever came of the other.

        The diff has at most `limit` characters: of a longer one both ends, and none for 0.
        """

    async def work(
        self, base: str, head: str, limit: int = 0, *, tree: str | None = None
    ) -> Comparison:
        """The same for what a commit, or a tree recorded on top of it, has and the base not."""

    async def messages(self, folder: str, base: str, head: str, limit: int) -> dict[str, str]:
        """What each commit says that the base has not, by its id; more than `limit` is an error."""

    async def newest(self, head: str, limit: int) -> list[CommitMessage]:
        """The newest commits up to `head`, the newest first, with all that they say."""

    async def contents(
        self, folder: str, commit: str, names: Sequence[str], limit: int
    ) -> dict[str, bytes]:
        """Files as a commit holds them, as many as have place in `limit` bytes together."""

    async def size_of(self, folder: str, commit: str, names: Sequence[str]) -> int:
        """How many bytes files have together, as a commit holds them."""


class Worktrees(Protocol):
    """A worktree and a branch per task."""

    async def open(self, task_id: str, *, first: bool = False) -> Worktree:
        """The task's worktree: the one it has, repaired if need be, or a new one off the base.

        The `first` time, its branch must not have commits yet.
        """

    async def list(self) -> list[Worktree]:
        """Every task's worktree, and every branch of a task whose worktree is gone."""

    async def unsaved(self, task_id: str) -> tuple[str, ...]:
        """What would be lost with a task's worktree."""

    async def discard(self, task_id: str) -> Cleaned | Kept:
        """Remove a worktree and its branch with all that is unsaved, which a separate ref keeps."""

    async def clean(self, task_id: str) -> Cleaned | Kept:
        """Remove a task's worktree if nothing in it is unsaved, and its branch once merged."""


class Changes(Protocol):
    """Commits and rebases in one checkout at a time."""

    async def check(self, folder: str, branch: str | None = None) -> None:
        """Verify that a folder is a checkout to write in, and of that branch; else say what it is.

        What our own crash left under way there is undone first.
        """

    async def commit_all(
        self, folder: str, message: str, author: str | None = None, *, branch: str | None = None
    ) -> str | None:
        """Commit all that is not ignored; the commit, or None when there was nothing."""

    async def rebase(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | RebaseConflict:
        """Move the commits in a folder onto the newest base; after a conflict all is as before."""

    async def replace_commits(self, folder: str, base: str, *, branch: str) -> str:
        """Put one commit with the same content in place of all that the base has not; its id."""


class Trailers(Protocol):
    """Says in each commit of a task's work whose it is."""

    async def add(
        self, folder: str, base: str, trailers: Sequence[str], *, branch: str, head: str
    ) -> str:
        """Give every commit up to `head` that the base has not these trailers; the new head."""


class Conflicts(Protocol):
    """Conflicts that someone resolves in the files of a worktree."""

    async def open(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | OpenConflict:
        """Merge the newest base into the files of a worktree, to be resolved there."""

    async def remember(self, folder: str, note: str) -> None:
        """Note an open conflict again, as it was told, whatever became of the note."""

    async def find(self, folder: str, base: str, *, answered: bool = True) -> OpenConflict | None:
        """The conflict that is open in a worktree, with what is still to do about it.

        Not `answered`: no turn about it has ended well, so it is not known to be resolved.
        """

    async def close(self, folder: str) -> Refused | None:
        """Commit how a conflict was resolved, on top of the base; what a hook of git says to it."""

    async def drop(self, folder: str) -> str | None:
        """Bring a worktree back to before a conflict was opened; the ref that keeps the edits."""

    async def recover(self, folder: str) -> None:
        """Undo what a crash left of our own operations, and what nobody continues."""


class Findings(Protocol):
    """What must not get into a repository by mistake."""

    async def uncommitted(self, folder: str, largest: int) -> tuple[WorkFinding, ...]:
        """What must not be committed as it is in a checkout; 0 is any size."""

    async def of_conflict(self, folder: str, largest: int) -> tuple[WorkFinding, ...]:
        """What must not be committed of how a conflict was resolved; 0 is any size."""

    async def committed(self, folder: str, base: str, largest: int) -> tuple[WorkFinding, ...]:
        """What must not be merged of the commits that the base has not; 0 is any size."""

    async def elsewhere(self, folder: str, base: str, start: str | None) -> Elsewhere | None:
        """Where the work went, of a branch without its own commits that began at `start`."""


class UncheckedCommits(Protocol):
    """Commits that no gate has checked."""

    async def bypassed(
        self, folder: str, base: str, start: str | None, merged: Collection[str]
    ) -> list[Commit]:
        """Commits made in a task's worktree that the base has, but not by one of our merges."""

    async def moved_behind(self, base: str) -> list[Commit]:
        """Commits that the base was moved to past the checkout that has it: by no git there."""

    async def made_in_checkout(self, start: str | None, spans: Sequence[Span]) -> list[Commit]:
        """Commits since `start` that were made in the project's checkout in these spans of time."""

    async def made_on_base(
        self, base: str, start: str | None, spans: Sequence[Span]
    ) -> list[Commit]:
        """Those of them that the base has, here or at its remote."""


class Pushes(Protocol):
    """Branches of tasks at a remote."""

    async def push(self, folder: str, branch: str, remote: str | None = None) -> Pushed | Refused:
        """Bring the remote's branch to ours, never over commits of others."""

    async def problem(self, remote: str | None = None) -> SetupProblem | None:
        """Why work could not be pushed in the end; None where a remote answers, or none is used."""

    async def seen(self, commits: Sequence[str]) -> bool:
        """Whether a remote has one of these commits, as far as this repository knows."""

    async def remove(self, branch: str, remote: str) -> str | None:
        """Remove a branch that we pushed from the remote; why it stays, if it does."""


class Copies(Protocol):
    """Copies of tasks' work, with which another clone continues it."""

    async def take(self, folder: str, base: str, unfit: Unfit, known: WorkCopy | None) -> TakenCopy:
        """The work in a worktree as it is now, without the untracked files that are `unfit`.

        Work that is as it was in the copy that is `known` is not bundled again.
        """

    async def is_current(self, task_id: str, copy: WorkCopy) -> bool:
        """Whether the branch of a task and what was pushed of it are as in a copy, if it has one.

        Nothing is said about files that are not committed.
        """

    async def restore(self, task_id: str, copy: WorkCopy, bundle: bytes | None) -> Restored:
        """Make a task's worktree from a copy; what was there is kept under refs."""


class Merges(Protocol):
    """Finished work on its way into the base."""

    async def merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Merged | MergeConflict | BaseMoved | Refused:
        """Merge a commit into the base; of one that is merged already, say since when."""

    async def prepare(
        self,
        head: str,
        base: str,
        message: str,
        method: MergeMethod = "merge",
        *,
        onto: str | None = None,
    ) -> Prepared | MergeConflict:
        """Build what the base would become, to be tested in `scratch` before it is landed.

        `onto` is the base where it was fetched a moment ago; to land it is to fetch it again.
        """

    async def land(self, prepared: Prepared) -> Merged | BaseMoved | Refused:
        """Move the base to what was prepared, if it still is where it was then."""

    def at_rest(self) -> AbstractAsyncContextManager[None]:
        """While Hookline merges nothing: `async with repository.merges.at_rest():`."""


class Repository(Protocol):
    """The git repository of a project: a worktree per task, and what happens to the work in it.

    Every act looks first, acts, and proves what it did. Repeated after a crash it is harmless;
    when it fails, the tree is clean and no commit is lost. `root` is the project's folder.
    """

    root: str

    @property
    def bases(self) -> Bases:
        """Which branch work goes into."""

    @property
    def history(self) -> History:
        """What work is, compared with its base."""

    @property
    def worktrees(self) -> Worktrees:
        """The worktrees of tasks."""

    @property
    def changes(self) -> Changes:
        """Commits and rebases."""

    @property
    def trailers(self) -> Trailers:
        """Whose each commit is."""

    @property
    def conflicts(self) -> Conflicts:
        """Conflicts with the base."""

    @property
    def findings(self) -> Findings:
        """What must not get in."""

    @property
    def unchecked(self) -> UncheckedCommits:
        """What went past the gates."""

    @property
    def pushes(self) -> Pushes:
        """Branches at a remote."""

    @property
    def copies(self) -> Copies:
        """Copies of work for other clones."""

    @property
    def merges(self) -> Merges:
        """The way into the base."""

    async def describe(self, folder: str | None = None) -> RepositoryState:
        """The state of the repository that a folder is in, with its problems."""

    async def head(self, folder: str) -> str | None:
        """The commit that a folder has checked out; None if it has none, or is broken."""

    async def tree_of(self, commit: str) -> str:
        """The id of all that a commit holds; two commits with one content have one id."""

    async def control_state(self) -> dict[str, str]:
        """A stamp for each file and each setting that steers git for all worktrees."""

    async def identity(self) -> str | None:
        """Who commits here, as "Name <address>"; None if git does not know."""

    async def remote_url(self, remote: str) -> str:
        """Where a remote is."""

    def scratch(self, sha: str, base: str) -> AbstractAsyncContextManager[str]:
        """A checkout of one commit that is gone at the end of the block; its path.

        Its submodules are those that `base` names in the same way.
        """
