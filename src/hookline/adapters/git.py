"""Git, as far as Hookline asks it; the only place that builds a git command."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.domain.work import WorkState, WorkTree
from hookline.errors import HookFailure
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.ports.processes import Finished, Processes

TIMEOUT = 20.0
# Without it, looking at a repository locks its index, and an agent's own git meets the lock.
LOOK = ("git", "--no-optional-locks")
# Larger files, and those after so many bytes, are told apart by their time and size.
LARGEST_READ, MOST_READ = 4 * 1024 * 1024, 256 * 1024 * 1024


async def changed_files(processes: Processes, root: str, environ: Mapping[str, str]) -> list[str]:
    """Files that differ from HEAD or are not tracked yet; none outside a repository."""
    # Inherited GIT_* variables would make git look at another repository than this folder's.
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    argv = (*LOOK, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    try:
        done = await processes.run(argv, cwd=root, env=env, timeout=TIMEOUT)
    except CannotStart as problem:
        raise HookFailure(f"which files changed is unknown: {problem}") from problem
    if done.exit_code != 0:
        if "not a git repository" in done.stderr:
            return []
        raise HookFailure(f"which files changed is unknown: git says {done.stderr.strip()[:300]}")
    prefix = _prefix(root)
    names = [entry[3:] for entry in _whole(done).split("\0") if len(entry) > 3]
    return sorted(_within(name, prefix) for name in names)


def _prefix(folder: str) -> str:
    """Where a folder lies in its repository: git counts from the repository's top."""
    top = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return ""
        top = parent
    found = os.path.relpath(os.path.realpath(folder), top)
    return "" if found == "." else found


def _within(name: str, prefix: str) -> str:
    """A name that git counts from the top, as it is seen from the folder."""
    return os.path.relpath(name, prefix) if prefix else name


def _whole(done: Finished) -> str:
    """All that git said; what is too long to be shown was put aside."""
    if done.blob is None:
        return done.stdout
    try:
        with open(done.blob, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as problem:
        raise HookFailure(f"which files changed is unknown: {problem}") from problem


async def init(processes: Processes, root: str, environ: Mapping[str, str]) -> bool:
    """Make a repository; False where there is no git."""
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    try:
        done = await processes.run(("git", "init", "--quiet"), cwd=root, env=env, timeout=TIMEOUT)
    except CannotStart:
        return False
    return done.exit_code == 0


class GitWork:
    """What an agent did to a folder, as git sees it.

    Trees are written to a folder of objects of our own, so that the repository stays as it is.
    """

    def __init__(self, processes: Processes, environ: Mapping[str, str], objects: str) -> None:
        self._processes = processes
        self._env = {name: value for name, value in environ.items() if name[:4] != "GIT_"}
        self._objects = objects
        self._known: dict[str, tuple[str, str]] = {}
        self._tree = ("", "")

    async def state(self, folder: str) -> WorkState:
        """The commit, and the files that differ from it."""
        argv = (*LOOK, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
        done = await self._git((*argv, "--no-renames"), folder)
        if done is None or done.exit_code:
            return WorkState(in_repository=False)
        commit, names, prefix = None, [], _prefix(folder)
        for entry in _whole(done).split("\0"):
            if entry.startswith("# branch.oid "):
                commit = entry[13:]
            elif entry[:2] in ("1 ", "u ", "? "):
                name = entry.split(" ", {"1": 8, "u": 10, "?": 1}[entry[0]])[-1]
                names.append(_within(name, prefix))
        stamps = await asyncio.to_thread(self._stamps, folder, names) if names else {}
        return WorkState(commit, await self._tree_of(commit, folder), stamps)

    async def _tree_of(self, commit: str | None, folder: str) -> str | None:
        """What a commit holds; another one that holds the same is no other state of the files."""
        if commit is None or commit == _INITIAL:
            return None
        if self._tree[0] != commit:
            done = await self._git((*LOOK, "rev-parse", f"{commit}^{{tree}}"), folder)
            if done is None or done.exit_code:
                return commit
            self._tree = (commit, done.stdout.strip())
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
        return {name: now[os.path.join(folder, name)][1] for name in names}

    async def between(self, folder: str, before: WorkState, after: WorkState) -> list[str]:
        """The files that changed from one state to the other, by edits and by commits."""
        names = after.differs_at(before)
        if before.commit != after.commit and before.commit and after.commit:
            argv = ("git", "diff", "--name-only", "--no-renames", "-z")
            initial = before.commit == _INITIAL
            ends = (_EMPTY_TREE if initial else before.commit, after.commit)
            done = await self._git((*argv, *ends), folder)
            listed = _whole(done).split("\0") if done and not done.exit_code else []
            prefix = _prefix(folder)
            committed = {_within(name, prefix) for name in listed if name}
            # A file that was edited before and is committed now has not changed by that.
            names = {*names - before.stamps.keys(), *committed}
        return sorted(names)

    async def tree(self, folder: str, base: str | None = None) -> WorkTree:
        """The content of a folder as a tree, and how it differs from a tree of before."""
        found = await self._git(
            ("git", "rev-parse", "--git-path", "index", "--git-path", "objects"), folder
        )
        if found is None or found.exit_code:
            return WorkTree(False)
        index, objects = (os.path.join(folder, line) for line in found.stdout.splitlines()[:2])
        os.makedirs(self._objects, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hookline-index-") as scratch:
            copy = os.path.join(scratch, "index")
            if os.path.exists(index):
                # With its time: git tells by it which files may have changed without a trace.
                shutil.copy2(index, copy)
            env = {
                "GIT_INDEX_FILE": copy,
                "GIT_OBJECT_DIRECTORY": os.path.abspath(self._objects),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.abspath(objects),
            }
            added = await self._git(("git", "add", "--all"), folder, env)
            written = await self._git(("git", "write-tree"), folder, env)
            if added is None or written is None or added.exit_code or written.exit_code:
                said = (added or written or found).stderr.strip()[:300]
                raise HookFailure(f"what was done is unknown: git says {said}")
            tree = written.stdout.strip()
            if base is None:
                return WorkTree(True, tree)
            argv = ("git", "diff-tree", "-r", "-z", "--no-renames", base, tree)
            listed = await self._git(argv, folder, env)
        if listed is None or listed.exit_code:
            raise HookFailure("what was done is unknown: git cannot compare it with before")
        differences = _whole(listed)
        count = differences.count("\0") // 2
        digest = sha256(differences.encode()).hexdigest() if count else None
        return WorkTree(True, tree, digest, count)

    async def _git(
        self, argv: tuple[str, ...], folder: str, env: Mapping[str, str] | None = None
    ) -> Finished | None:
        try:
            return await self._processes.run(
                argv, cwd=folder, env={**self._env, **(env or {})}, timeout=TIMEOUT
            )
        except CannotStart:  # a machine without git has no repositories
            return None


_INITIAL = "(initial)"  # what git calls the commit of a repository without any
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def _seen(path: str) -> tuple[str, int]:
    """What tells cheaply that nobody touched a file, and its size."""
    try:
        found = os.lstat(path)
    except OSError:
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
