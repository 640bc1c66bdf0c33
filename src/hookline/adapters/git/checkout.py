"""Where git works: a checkout's folders, found and verified here and never by git itself.

Git looks for a repository from a folder upwards. In a task's worktree that an agent has broken it
would find the checkout around it, which is the user's own. So every git process is told where.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from hookline.domain.work.repository import RepositoryError
from hookline.files import bytes_of, entry_at, real_path
from hookline.project import FOLDER_NAME

WORKTREES = os.path.join(os.sep + FOLDER_NAME, "worktrees", "")
_MOST = 64 * 1024  # no file that names a folder is longer


class NoRepository(RepositoryError):
    """The folder is in no repository."""


class BrokenWorktree(RepositoryError):
    """A task's worktree is not what Hookline made."""


class Checkout(NamedTuple):
    """A work tree, its own git folder, and the one that all worktrees of the repository share."""

    top: str
    git_dir: str
    common: str

    @property
    def is_linked(self) -> bool:
        """Whether it is one of several work trees, with its own git folder."""
        return self.git_dir != self.common


def checkout_of(folder: str, worktrees: str | None = None) -> Checkout:
    """The checkout that a folder is in: a task's only if it is still what Hookline made.

    `worktrees` is the folder of the tasks' worktrees, where the path does not tell it.
    """
    path = os.path.abspath(folder)
    place = f"{worktrees}{os.sep}" if worktrees is not None else ""
    if not place or not path.startswith(place):
        place = "".join(path.partition(WORKTREES)[:2]) if WORKTREES in path else ""
    if not place:
        return _found_from(path)
    root = os.path.dirname(os.path.dirname(place.rstrip(os.sep)))
    name = path.removeprefix(place).partition(os.sep)[0]
    return linked_checkout(place + name, _found_from(root).common)


def top_of(folder: str) -> str:
    """The top of the checkout that a folder is in; the root of all folders outside one."""
    top = real_path(folder)
    while not os.path.lexists(os.path.join(top, ".git")) and top != os.path.dirname(top):
        top = os.path.dirname(top)
    return top


def own_checkout(top: str) -> Checkout | None:
    """The checkout whose top this very folder is."""
    link = os.path.join(top, ".git")
    git_dir = link if os.path.isdir(link) else _named(link, "gitdir: ")
    # Without a work tree around it, a repository is its own folder.
    for place in (git_dir, top):
        if place is not None and (common := _common_if_git(place)) is not None:
            return Checkout(top, real_path(place), common)
    if git_dir is not None and not os.path.isdir(link):
        raise NoRepository(f"{link} names {git_dir}, where there is no repository")
    return None


def _found_from(folder: str) -> Checkout:
    top = real_path(folder)
    while True:
        if (found := own_checkout(top)) is not None:
            return found
        if top == os.path.dirname(top):
            raise NoRepository(f"{folder} is not in a repository", help="run `git init` there")
        top = os.path.dirname(top)


def linked_checkout(path: str, common: str) -> Checkout:
    """A worktree that git keeps for a repository; BrokenWorktree, with what was found, if not."""
    _check_folder(path)
    link = os.path.join(path, ".git")
    named = _named(link, "gitdir: ")
    git_dir = real_path(named) if named is not None else ""
    if os.path.dirname(git_dir) != os.path.join(common, "worktrees"):
        raise BrokenWorktree(f"{link} points to {named}, not to a worktree of this repository")
    own = os.path.join(real_path(os.path.dirname(path)), os.path.basename(path))
    back = _named(os.path.join(git_dir, "gitdir"))
    if back is None or real_path(os.path.dirname(back)) != own:
        raise BrokenWorktree(f"{link} points to {git_dir}, which belongs to {back}")
    if (found := _common_of(git_dir)) != common:
        raise BrokenWorktree(f"{git_dir} belongs to the repository {found}, not to {common}")
    for name in ("HEAD", "index"):
        if os.path.islink(place := os.path.join(git_dir, name)):
            raise BrokenWorktree(f"{place} is a link to {os.readlink(place)}")
    _check_objects(path, common)
    return Checkout(own, git_dir, common)


def _check_folder(path: str) -> None:
    link = os.path.join(path, ".git")
    for place, wanted in ((path, stat.S_IFDIR), (link, stat.S_IFREG)):
        if (entry := entry_at(place)) is None:
            raise BrokenWorktree(f"{place} is gone")
        found = stat.S_IFMT(entry.st_mode)
        if found == stat.S_IFLNK:
            raise BrokenWorktree(f"{place} is a link to {os.readlink(place)}")
        if found != wanted:
            what = f"{path} is a repository of its own" if place == link else f"{path} is a file"
            raise BrokenWorktree(what)


def _check_objects(path: str, common: str) -> None:
    """Objects that are borrowed from a worktree would be gone with it."""
    inside = real_path(os.path.dirname(path)) + os.sep
    objects = os.path.join(common, "objects")
    alternates = os.path.join(objects, "info", "alternates")
    for line in bytes_of(alternates, _MOST).splitlines():
        place = real_path(os.path.join(objects, os.fsdecode(line)))
        if place.startswith(inside):
            raise BrokenWorktree(f"{alternates} borrows objects from a worktree: {place}")


def _named(path: str, before: str = "") -> str | None:
    """The path that a file of git's names, relative to the file's folder; None if it names none."""
    text = os.fsdecode(bytes_of(path, _MOST)).rstrip("\r\n")
    name = text.removeprefix(before)
    if not name or "\0" in name or not text.startswith(before):
        return None
    return os.path.join(os.path.dirname(path), name)


def _common_of(git_dir: str) -> str:
    return real_path(_named(os.path.join(git_dir, "commondir")) or git_dir)


def _common_if_git(path: str) -> str | None:
    """The shared git folder of a git folder; None if the path is none."""
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return None
    common = _common_of(path)
    is_git = all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))
    return common if is_git else None
