"""What was done to a folder, as git sees it: for sessions, loops and conditions."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import tempfile
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from hookline.adapters.git.checkout import WORKTREES, NoRepository, checkout_of, top_of
from hookline.adapters.git.door import (
    ALONE,
    LIMIT,
    REBASES,
    RESCUED,
    Git,
    GitFailed,
    NoGit,
    own_settings,
    printable,
)
from hookline.adapters.git.index import SplitIndex, copy_index, forget_stats, has_marks
from hookline.adapters.git.refs import STATUS, branch_in, read_commit, read_status
from hookline.digest import sha256
from hookline.domain.work.repository import (
    EMPTY_TREE,
    INITIAL,
    FileChange,
    RepositoryError,
    WorkState,
    WorkTree,
)
from hookline.files import bytes_of, entry_at
from hookline.project import FOLDER_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from hookline.adapters.git.checkout import Checkout
    from hookline.adapters.git.door import GitReply
    from hookline.ports.processes import Processes

TIMEOUT = 20.0
# Larger files, and those after so many bytes, are told apart by their time and size.
LARGEST_READ, MOST_READ = 4 * 1024 * 1024, 256 * 1024 * 1024
_NAMES = ("-r", "-z", "--no-renames", "--name-only")
_NUMBERS = ("diff-tree", "-r", "-z", "--numstat", "--no-renames")
# Hooks and flows there are the project's; everything else is written by Hookline.
_OWN = f"{FOLDER_NAME}/"
_SHARED = (f"{_OWN}hooks/", f"{_OWN}flows/")
_UNKNOWN = "what was done is unknown"
_NOT_UNDONE = "it cannot be undone"
# Added to the index, and neither in the commit nor in the folder.
_NOWHERE = "1 AD "
_NOTHING = (NoGit, NoRepository)  # a machine without git has no repositories


class GitWork:
    """What was done to a folder, as git sees it, without Hookline's own files.

    Trees are written to a folder of objects of our own, so that the repository stays as it is.
    """

    def __init__(
        self,
        processes: Processes,
        environ: Mapping[str, str],
        objects: str,
        *,
        trusted: bool = True,
    ) -> None:
        self._door = Git(processes, environ, trusted=trusted)
        self._trusted = trusted
        self._objects = objects
        self._known: dict[str, tuple[str, str]] = {}
        self._tree = ("", "")

    async def _git(
        self, folder: str, *args: str, doing: str, aside: Mapping[str, str] | None = None
    ) -> GitReply:
        at = checkout_of(folder)
        return await self._door.run(at, *args, doing=doing, aside=aside, timeout=TIMEOUT)

    async def changed_files(self, folder: str) -> list[str]:
        """Files that differ from HEAD or are not tracked yet; none outside a repository."""
        with suppress(NoRepository):
            _, names = await self._uncommitted(folder)
            return sorted(printable(name) for name in names)
        return []

    async def changed_since(self, folder: str, start: str) -> list[str]:
        """Files that differ from an earlier commit, by later ones or not committed yet."""
        commit, names = await self._uncommitted(folder)
        if commit is None or commit == INITIAL:
            raise RepositoryError(f"there are no commits in {folder}")
        committed = await self.changed_between(folder, start, commit)
        return sorted({*committed, *map(printable, names)})

    async def changed_between(self, folder: str, old: str, new: str) -> list[str]:
        """Files in which two commits differ, with both names of a renamed one."""
        asked = ("diff-tree", *_NAMES, "--ignore-submodules=none", old, new)
        said = await self._git(folder, *asked, doing="which files changed is unknown")
        return sorted(printable(name) for name in _seen_from(folder, said.names))

    async def _uncommitted(self, folder: str) -> tuple[str | None, list[str]]:
        """The commit, and the files that differ from it."""
        at, doing = checkout_of(folder), "which files changed is unknown"
        if self._trusted and await asyncio.to_thread(_is_misled, at):
            async with self._own_index(at) as index:
                said = await self._git(folder, *STATUS, doing=doing, aside=index)
        else:
            said = await self._git(folder, *STATUS, doing=doing)
        commit, names = read_status(each for each in said.names if not each.startswith(_NOWHERE))
        return commit, _seen_from(folder, names)

    @asynccontextmanager
    async def _own_index(self, at: Checkout) -> AsyncIterator[dict[str, str]]:
        """A copy of the index with which git looks at every file, for git's environment."""
        with tempfile.TemporaryDirectory(prefix="hookline-index-") as scratch:
            copy = os.path.join(scratch, "index")
            aside = {"GIT_INDEX_FILE": copy}
            copy_index(at.git_dir, copy)
            forget = partial(forget_stats, scratch, is_sha256=_is_sha256(at), marks=True)
            try:
                await asyncio.to_thread(forget)
            except SplitIndex:
                join = ("update-index", "--no-split-index")
                await self._door.run(at, *join, doing=_UNKNOWN, aside=aside)
                await asyncio.to_thread(forget)
            yield aside

    async def state(self, folder: str) -> WorkState:
        try:
            commit, names = await self._uncommitted(folder)
            tree = await self._tree_of(commit, folder)
        except _NOTHING:
            return WorkState(in_repository=False)
        except RepositoryError as problem:
            return WorkState(in_repository=False, error=problem.message)
        stamps = await asyncio.to_thread(self._stamps, folder, names) if names else {}
        return WorkState(commit, tree, stamps)

    async def _tree_of(self, commit: str | None, folder: str) -> str | None:
        """What a commit holds; one that holds the same is the same state of the files."""
        if commit is None or commit == INITIAL:
            return None
        if (found := read_commit(checkout_of(folder).common, commit)) is not None:
            return found.tree
        if self._tree[0] != commit:
            said = await self._git(folder, "rev-parse", f"{commit}^{{tree}}", doing=_UNKNOWN)
            self._tree = (commit, said.text)
        return self._tree[1]

    def _stamps(self, folder: str, names: list[str]) -> dict[str, str]:
        """A stamp for the content of each file; what nobody touched is not read again."""
        known, left = self._known, MOST_READ
        now: dict[str, tuple[str, str]] = {}
        for name in names:
            path = os.path.join(folder, name)
            seen, size = _seen(path)
            if known.get(path, ("", ""))[0] == seen:
                now[path] = known[path]
                continue
            readable = size <= min(left, LARGEST_READ)
            now[path] = (seen, _content(path) if readable else seen)
            left -= size if readable else 0
        self._known = now
        return {printable(name): now[os.path.join(folder, name)][1] for name in names}

    async def between(self, folder: str, before: WorkState, after: WorkState) -> list[str]:
        """The files whose content changed from one state to the other, committed or not."""
        if not after.in_repository or after.fingerprint == before.fingerprint:
            return []
        old, new = before.stamps, after.stamps
        edited = {name for name in new if old.get(name) != new[name]}
        # What differed from its commit and no longer does: committed as it was, or changed?
        edited |= {
            name for name in old.keys() - new.keys() if not _still_has(folder, name, old[name])
        }
        committed = await self._committed(folder, before.commit, after.commit)
        return sorted(edited | committed - old.keys() - new.keys())

    async def _committed(self, folder: str, old: str | None, new: str | None) -> set[str]:
        """The files in which two commits differ."""
        if old == new or not old or not new:
            return set()
        ends = (EMPTY_TREE if old == INITIAL else old, new)
        try:
            return set(await self.changed_between(folder, *ends))
        except RepositoryError:  # such as when the commit of before is gone
            return set()

    async def restore(self, folder: str, before: WorkState, head: str | None) -> str:
        """Bring a task's worktree back to a clean state of before, and name the ref that keeps
        what is undone; RepositoryError where it is not certain that this loses nothing else."""
        at = checkout_of(folder)
        if not at.is_linked or at.top != os.path.realpath(folder) or WORKTREES not in at.top:
            raise RepositoryError("the folder is not a task's worktree")
        if before.stamps or not before.commit or before.commit == INITIAL:
            raise RepositoryError("not everything was committed before")
        rebases = (os.path.join(at.git_dir, name) for name in REBASES)
        if head is None or any(map(os.path.exists, rebases)):
            raise RepositoryError("no branch was checked out before, or a rebase is in progress")
        ask = partial(self._door.run, at, doing=_NOT_UNDONE, timeout=TIMEOUT, hooks=False)
        await ask("add", "--all")
        kept = (await ask("stash", "create", "put away by Hookline")).text
        kept = kept or (await ask("rev-parse", "HEAD")).text
        ref = f"{RESCUED}{kept}"
        await ask("update-ref", ref, kept)
        await ask("symbolic-ref", "HEAD", head)
        await ask(*ALONE, "reset", "--hard", "--quiet", before.commit)
        if await self.state(folder) != before:
            raise RepositoryError(f"git cannot restore all of it; it is kept as {ref}")
        return ref

    async def tree(
        self, folder: str, base: str | None = None, counted: Sequence[str] = ()
    ) -> WorkTree:
        """The content of a folder as a tree, and how it differs from a tree of before."""
        try:
            return await self._written_tree(folder, base, counted)
        except _NOTHING:
            return WorkTree(False)
        except RepositoryError as problem:
            return WorkTree(False, error=problem.message)

    async def _written_tree(
        self, folder: str, base: str | None, counted: Sequence[str]
    ) -> WorkTree:
        at = checkout_of(folder)
        os.makedirs(self._objects, exist_ok=True)
        async with self._own_index(at) as index:
            aside = {
                **index,
                "GIT_OBJECT_DIRECTORY": os.path.abspath(self._objects),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(at.common, "objects"),
            }
            ask = partial(self._git, folder, doing=_UNKNOWN, aside=aside)
            await self._door.run(at, "add", "--all", doing=_UNKNOWN, aside=aside)
            tree = (await ask("write-tree")).text
            if base is None:
                return WorkTree(True, tree)
            try:
                said = (await ask("diff-tree", "-r", "-z", "--no-renames", base, tree)).names
            except GitFailed as problem:
                has = await self._door.run(at, "cat-file", "-e", f"{base}^{{tree}}", aside=aside)
                return WorkTree(False, error=problem.message, lost=bool(has.code))
            edited: list[FileChange] = []
            if counted:
                places = {os.path.normpath(os.path.join(_prefix(folder), n)): n for n in counted}
                only = [f":(top,literal){place}" for place in places]
                counts = await ask(*_NUMBERS, base, tree, "--", *only)
                edited = [_count(each, places) for each in counts.names]
        # In turns: how a file differs, and its name.
        found = zip(said[::2], _relative(folder, said[1::2]), strict=True)
        kept = [f"{how} {name}" for how, name in found if not _is_ours(name)]
        digest = sha256(os.fsencode("\0".join(kept))).hexdigest() if kept else None
        return WorkTree(True, tree, digest, len(kept), edited=tuple(edited))


def _is_misled(at: Checkout) -> bool:
    """Whether git would not look at some file, other than one that a sparse checkout leaves out."""
    if _is_set(at, rb"sparsecheckout\s*=\s*true"):
        return False
    return has_marks(at.git_dir, is_sha256=_is_sha256(at))


def _is_sha256(at: Checkout) -> bool:
    return _is_set(at, rb"objectformat\s*=\s*sha256")


def _is_set(at: Checkout, line: bytes) -> bool:
    return any(re.search(line, bytes_of(path, LIMIT), re.I) for path in own_settings(at))


def _count(line: str, names: Mapping[str, str]) -> FileChange:
    """What git counted of one file: `-` if it is binary."""
    *counts, place = line.split("\t", 2)
    added, removed = (int(n) if n.isdecimal() else None for n in counts)
    return FileChange(printable(names.get(place, place)), added, removed)


def branch_at(folder: str) -> str | None:
    """The branch that a folder has checked out, by its full name; None if it has none."""
    with suppress(RepositoryError):
        name = branch_in(checkout_of(folder).git_dir)
        return None if name is None else f"refs/heads/{name}"
    return None


def _seen_from(folder: str, names: Iterable[str]) -> list[str]:
    """Names that git counts from the top as they are seen from a folder, without our own files."""
    return [name for name in _relative(folder, names) if not _is_ours(name)]


def _relative(folder: str, names: Iterable[str]) -> Iterable[str]:
    prefix = _prefix(folder)
    return names if prefix == "." else (os.path.relpath(name, prefix) for name in names)


def _prefix(folder: str) -> str:
    """Where a folder is, seen from the top of its checkout."""
    return os.path.relpath(os.path.realpath(folder), top_of(folder))


def _is_ours(name: str) -> bool:
    """Whether a file is written by Hookline."""
    return name.startswith(_OWN) and not name.startswith(_SHARED)


def _still_has(folder: str, name: str, stamp: str) -> bool:
    """Whether a file has the content that it had when it was given that stamp."""
    path = os.path.join(folder, name)
    seen, size = _seen(path)
    return stamp == seen or (size <= LARGEST_READ and stamp == _content(path))


def _seen(path: str) -> tuple[str, int]:
    """What tells cheaply that nobody touched a file, and its size."""
    if (found := entry_at(path)) is None:
        return "gone", 0
    times = f"{found.st_mtime_ns}-{found.st_ctime_ns}"
    return f"{times}-{found.st_size}-{found.st_ino}-{found.st_mode}", found.st_size


def _content(path: str) -> str:
    """A stamp that files have in common whose content, and right to run, is the same."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return f"link-{sha256(os.fsencode(os.readlink(path))).hexdigest()}"
        if not stat.S_ISREG(mode):
            return _seen(path)[0]
        with open(path, "rb") as file:
            return f"{mode & 0o111:o}-{sha256(file.read(LARGEST_READ)).hexdigest()}"
    except OSError as problem:
        return f"unreadable-{problem.errno}"
