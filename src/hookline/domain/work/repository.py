"""What Hookline knows of a git repository and its files, and what its acts there came to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from hookline.digest import sha256
from hookline.domain.text.excerpts import first_few
from hookline.errors import BadInput, HooklineError

# What git calls the commit of a repository without any, and what such a one holds.
INITIAL = "(initial)"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SHOWN = 5  # how many names a message lists
# The kinds of files that control git.
_OF_HOOKS = ("hooks", "core.hookspath", "hook.", "include.", "includeif.")

BRANCH_PREFIX = "hookline/"
# One path component, and one of a branch's name, that no program takes for an option.
_TASK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")

# From one moment to another, in seconds since 1970.
Span = tuple[float, float]
Operation = Literal["rebase", "merge", "cherry-pick", "revert", "bisect", "am"]


class RepositoryError(HooklineError, code="repository"):
    """Git could not do that."""


def check_task_name(task_id: str) -> str:
    """A task id that can safely name a folder and a branch, or BadInput."""
    if not _TASK_NAME.fullmatch(task_id):
        raise BadInput(f"{task_id[:80]!r} cannot name a worktree", help="task ids look like T-12")
    return task_id


def branch_of(task_id: str) -> str:
    """The branch that a task's work is committed to."""
    return BRANCH_PREFIX + check_task_name(task_id)


class SetupProblem(msgspec.Struct, frozen=True):
    """Something wrong with a repository or a forge; `blocks` if no work is possible."""

    code: str
    message: str
    help: str
    blocks: bool = False


class RepositoryState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A folder as git sees it. `dirty` names the first changed files, `dirty_count` counts all."""

    in_repository: bool
    bare: bool = False
    top: str | None = None
    head: str | None = None
    branch: str | None = None
    remotes: tuple[str, ...] = ()
    shallow: bool = False
    submodules: bool = False
    dirty: tuple[str, ...] = ()
    dirty_count: int = 0
    operation: Operation | None = None
    problems: tuple[SetupProblem, ...] = ()

    @property
    def detached(self) -> bool:
        """Whether a commit is checked out, and no branch."""
        return self.head is not None and self.branch is None

    def listed(self, most: int) -> str:
        """The first changed files, and how many more there are."""
        return first_few(self.dirty, most, of=self.dirty_count)

    @property
    def blocking(self) -> SetupProblem | None:
        """The first problem with which nothing can be done here."""
        return next((problem for problem in self.problems if problem.blocks), None)


class Worktree(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A task's own checkout. `folder` is the project's place in it; `lost` when it is gone, `fresh`
    when its branch was made just now.

    `notices` say what could not be had, such as a remote that does not answer.
    """

    task: str
    path: str
    folder: str
    branch: str
    base: str
    head: str
    lost: bool = False
    fresh: bool = False
    notices: tuple[str, ...] = ()


class Cleaned(msgspec.Struct, frozen=True):
    """A worktree is gone, now or since earlier.

    What was `unsaved` in it was to be discarded; the refs under `rescued` still hold it.
    """

    task: str
    removed: bool
    unsaved: tuple[str, ...] = ()
    rescued: tuple[str, ...] = ()


class Kept(msgspec.Struct, frozen=True):
    """A worktree stays, because something in it is saved nowhere else.

    If that `can_go`, a person may have it discarded.
    """

    task: str
    unsaved: tuple[str, ...]
    can_go: bool = False


# How two sides of a file conflict: in passages that are `marked`, or as the state of the file says.
ConflictKind = Literal[
    "marked",
    "binary",
    "link",
    "mode",
    "submodule",
    "deleted-by-base",
    "deleted-by-work",
    "renamed-twice",
    "name-of-work",
    "name-of-base",
]


class ConflictFile(msgspec.Struct, frozen=True):
    """A file that two sides changed: `ours` is the task's side, `theirs` the base's, both cut.

    A side without the file is None. `aside` is where the base's side of it lies, `renamed` is what
    each side calls it.
    """

    path: str
    ours: str | None
    theirs: str | None
    kind: ConflictKind = "marked"
    aside: str | None = None
    renamed: tuple[str, str] | None = None


class CommitMessage(msgspec.Struct, frozen=True):
    """What a commit says, and when it was made, in seconds."""

    sha: str
    at: float
    message: str

    @property
    def subject(self) -> str:
        """Its first line."""
        return self.message.partition("\n")[0]


class CommitWithParents(msgspec.Struct, frozen=True):
    """A commit of the work, and those that it was made from."""

    commit: str
    parents: tuple[str, ...]


class WorkFinding(msgspec.Struct, frozen=True):
    """Something in a task's work that must not be merged: a `large` file, a `nested` repository,
    a file of Hookline's `own`, a `new-submodule` that the base does not name like this, or a commit
    of a `submodule` that its remote does not have; `said` is what git says about it. It is `gone`
    if only earlier commits of the work have it.
    """

    kind: Literal["large", "nested", "new-submodule", "own", "submodule", "unwatched"]
    path: str
    size: int = 0
    said: str = ""
    gone: bool = False


class Elsewhere(msgspec.Struct, frozen=True):
    """What was seen of work that its branch does not show; `lost` when the base has none of it."""

    seen: str
    lost: bool = False


def told_commit(commit: Commit) -> str:
    """A commit as a line tells it."""
    return f"{commit.sha[:12]} {commit.subject[:72]}"


def named(commits: Sequence[Commit]) -> str:
    """Commits as a line tells them: the first ones, and how many more."""
    return first_few([told_commit(each) for each in commits], 3)


class Rebased(msgspec.Struct, frozen=True):
    """The work is on top of the base's tip; `needed` says whether it had to be moved.

    `start` is the commit that it was. `same`: it holds exactly what a merge of the two gives.
    """

    needed: bool
    head: str
    onto: str
    start: str
    same: bool = True


class RebaseConflict(msgspec.Struct, frozen=True):
    """The work does not fit on the base's tip; everything is as it was before.

    `stopped` is the first of its commits that does not fit, `fits` what became of those before it.
    """

    onto: str
    files: tuple[ConflictFile, ...]
    fits: str
    stopped: str


class MarkersLeft(msgspec.Struct, frozen=True):
    """A file in which conflict markers are left, and in which lines."""

    path: str
    lines: tuple[int, ...]


class OpenConflict(msgspec.Struct, frozen=True, kw_only=True):
    """The base is merged into the files of a worktree, for someone to resolve by editing them.

    `files` are the first of all `count`. What is still to do: `markers` to remove, changes of the
    base that were undone and are `restored`, and files that nobody has looked at (`undecided`).
    `note` is what has to be known to find it again.
    """

    onto: str
    files: tuple[ConflictFile, ...]
    count: int
    markers: tuple[MarkersLeft, ...] = ()
    restored: tuple[str, ...] = ()
    undecided: bool = False
    note: str = ""

    @property
    def is_resolved(self) -> bool:
        """Whether nothing is left to do."""
        return not (self.markers or self.restored or self.undecided)


class Commit(msgspec.Struct, frozen=True):
    """A commit and the first line of its message."""

    sha: str
    subject: str


class FileChange(msgspec.Struct, frozen=True):
    """A file that work changes, and how many of its lines; a binary file has none."""

    path: str
    added: int | None = None
    removed: int | None = None


class Comparison(msgspec.Struct, frozen=True):
    """The files in which two states of the project differ, and how, if that was asked for."""

    files: list[FileChange]
    diff: str = ""


class Pushed(msgspec.Struct, frozen=True):
    """The remote has the branch at this commit."""

    branch: str
    remote: str
    head: str


class Refused(msgspec.Struct, frozen=True):
    """Nothing was moved. `diverged`: others' commits are there; `rejected`: the remote's rules
    or a hook say no; `unreachable`: the remote did not answer; `local-edits`: a checkout's
    edits would be overwritten, those of `paths` there. `output` is what git and its hooks said.
    """

    kind: Literal["diverged", "rejected", "unreachable", "local-edits"]
    reason: str
    output: str = ""
    checkout: str = ""
    paths: tuple[str, ...] = ()


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that the base would become, built next to it; `merged` when it is that already."""

    sha: str
    head: str
    base: str
    base_head: str
    merged: bool = False


class MergeConflict(msgspec.Struct, frozen=True):
    """The work does not merge into the base; nothing was moved."""

    base_head: str
    files: tuple[ConflictFile, ...]


class BaseMoved(msgspec.Struct, frozen=True):
    """Someone else moved the base first; we moved nothing."""

    base: str
    expected: str
    found: str


class Merged(msgspec.Struct, frozen=True):
    """The base holds the work since the commit `sha`; `notices` say what was left behind."""

    sha: str
    base: str
    notices: tuple[str, ...] = ()


def control_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files that control git and were added, removed or changed."""
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def hook_changes(changed: Iterable[str]) -> list[str]:
    """Those of the changes that decide which hooks git runs; an included file can name some."""
    return [name for name in changed if name.startswith(_OF_HOOKS)]


def control_told(changed: Sequence[str], when: str = "while the agent worked") -> str:
    """Why a person has to check the files that control git."""
    return f"files in .git that control git were changed {when}: {first_few(changed, _SHOWN)}"


class WorkState(msgspec.Struct, frozen=True):
    """What is in a folder: its commit and tree, and a stamp for each file that differs.

    Two states with the same fingerprint hold the same files. Outside a repository there is no
    commit and nothing is known, nor where git fails: then `error` says why.
    """

    commit: str | None = None
    tree: str | None = None
    stamps: dict[str, str] = {}
    in_repository: bool = True
    error: str | None = None

    @property
    def fingerprint(self) -> str | None:
        """A short name of this state; None where nothing is known."""
        if not self.in_repository:
            return None
        encoded = msgspec.json.encode((self.tree, sorted(self.stamps.items())))
        return str(sha256(encoded).hexdigest()[:16])


class WorkTree(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a folder as a git tree, and how it differs from an earlier one.

    `error` says why git could not tell, `lost` that the earlier tree is gone, `edited` how many
    lines of some files changed.
    """

    in_repository: bool
    tree: str | None = None
    diff_hash: str | None = None
    changed_files: int = 0
    error: str | None = None
    edited: tuple[FileChange, ...] = ()
    lost: bool = False
