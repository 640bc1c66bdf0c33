"""What must not get into a repository by mistake: large files, repositories inside the work,
commits of submodules that nobody else can get, and files of Hookline's own."""

from __future__ import annotations

import os
import stat

import msgspec

from hookline.adapters.git.checkout import own_checkout
from hookline.adapters.git.door import nul, printable
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.changes import Changes
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.resolving import Conflicts
from hookline.adapters.git.repository.state import SHOWN
from hookline.adapters.git.repository.submodules import fetch_submodules, submodules
from hookline.adapters.git.repository.unchecked import UncheckedCommits
from hookline.adapters.git.repository.worktree_folders import Scratch
from hookline.domain.work.repository import Elsewhere, WorkFinding, named
from hookline.files import entry_at
from hookline.project import is_own

_LINK = "160000"  # the mode of a commit of another repository in a tree
_REMOVED = "000000"
_RAW = ("diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")


class Findings(msgspec.Struct, frozen=True):
    """Looks at what a task's work would bring into the base."""

    _repo: Plumbing
    _bases: Bases
    _changes: Changes
    _conflicts: Conflicts
    _scratch: Scratch
    _unchecked: UncheckedCommits

    async def uncommitted(self, folder: str, largest: int) -> tuple[WorkFinding, ...]:
        top = self._repo.at(folder).top
        return await self._findings(top, await self._repo.dirty(top), largest)

    async def of_conflict(self, folder: str, largest: int) -> tuple[WorkFinding, ...]:
        top = self._repo.at(folder).top
        return await self._findings(top, await self._conflicts.resolved_files(top), largest)

    async def committed(self, folder: str, base: str, largest: int) -> tuple[WorkFinding, ...]:
        known = await self._bases.known(base)
        large = await self._large_blobs(folder, known.sha, largest)
        said = await self._repo.git(folder, *_RAW, f"{known.sha}...HEAD", doing="no diff")
        pairs = zip(said.names[::2], said.names[1::2], strict=True)
        changed = {name: about.split(" ") for about, name in pairs}
        links = {name: about[3] for name, about in changed.items() if about[1] == _LINK}
        # They would replace the base checkout's own files, which git takes for ignored.
        there = [name for name, about in changed.items() if about[1] != _REMOVED]
        own = [WorkFinding("own", _shown(name)) for name in there if is_own(name)]
        links_found = await self._links(folder, known.sha, links) if links else ()
        return (*own, *large, *links_found, *await self._unwatched(folder))

    async def _findings(self, top: str, names: list[str], largest: int) -> tuple[WorkFinding, ...]:
        # Git lists every file of a folder, but a repository in it as a whole.
        nested = [WorkFinding("nested", _shown(name)) for name in names if name.endswith("/")]
        sizes = {name: _size(os.path.join(top, name)) for name in names}
        large = [name for name in names if largest and sizes[name] > largest]
        large = await self._unfiltered(top, large) if large else []
        return (*nested, *(WorkFinding("large", _shown(name), sizes[name]) for name in large))

    async def elsewhere(self, folder: str, base: str, start: str | None) -> Elsewhere | None:
        """Where the work went, of a branch without its own commits; None if there is none.

        There is none if the branch is still where it began, and no commit was made in its worktree.
        What we merged ourselves is where it belongs.
        """
        known, head = await self._bases.known(base), await self._repo.tip(folder)
        if await self._changes.landed(head, known.sha):
            return None
        made = await self._unchecked.made_here(folder)
        missing = await self._unchecked.not_in(folder, made, known.sha)
        held = [commit for commit in made if commit not in missing]
        if held:
            seen = f"{base} already has commits of the work that bypassed its gates: {named(held)}"
            return Elsewhere(seen)
        if missing:
            seen = f"commits were made that are not on the task's branch: {named(missing)}"
            return Elsewhere(seen, lost=True)
        if start is not None and head != start:
            where = f"from {start[:12]} to {head[:12]}, which is in {base}"
            return Elsewhere(f"the task's branch was moved {where}")
        if await self._unchecked.is_log_gone(folder):
            seen = (
                "the reflog of the worktree was removed, so commits elsewhere cannot be ruled out"
            )
            return Elsewhere(seen)
        return None

    async def _unwatched(self, folder: str) -> tuple[WorkFinding, ...]:
        """Files that git was told not to look at: gates see them as they are not committed.

        In a sparse checkout those that are left out are not there; elsewhere that hides them.
        """
        said = await self._repo.git(folder, "ls-files", "-v", "-z", doing="the files are unknown")
        top = self._repo.at(folder).top
        marked = [name[2:] for name in said.names if name[0].islower() or name[0] == "S"]
        if marked and await self._repo.settings.get("core.sparsecheckout") == "true":
            marked = [name for name in marked if os.path.lexists(os.path.join(top, name))]
        return tuple(WorkFinding("unwatched", _shown(name)) for name in marked)

    async def _unfiltered(self, top: str, names: list[str]) -> list[str]:
        """The files that git would store as they are; a filter may store a short pointer."""
        asked = ("check-attr", "-z", "--stdin", "filter")
        said = await self._repo.git(top, *asked, stdin=nul(names), doing="attributes are unknown")
        found = said.out.decode("utf-8", "surrogateescape").split("\0")
        filters = dict(zip(found[::3], found[2::3], strict=False))
        return [name for name in names if filters.get(name) in ("unspecified", "unset", "")]

    async def _large_blobs(self, folder: str, base: str, largest: int) -> list[WorkFinding]:
        commits = f"{base}..HEAD"
        limit = (f"--filter=blob:limit={largest + 1}", "--filter-print-omitted") if largest else ()
        said = await self._repo.objects.check(folder, *limit, commits)
        blobs = [line[1:] for line in said.text.splitlines() if line.startswith("~")]
        found = []
        for blob in blobs[:SHOWN]:
            where = ("--format=", "--name-only", "--no-renames", "-m", "-z")
            names = await self._repo.git(folder, "log", *where, f"--find-object={blob}", commits)
            size = await self._repo.git(folder, "cat-file", "-s", blob, doing="its size is unknown")
            name = next(iter(names.names), blob)
            there = await self._repo.git(folder, "rev-parse", "--verify", "--quiet", f"HEAD:{name}")
            gone = there.text != blob
            found.append(WorkFinding("large", _shown(name), int(size.text), gone=gone))
        return found

    async def _links(self, folder: str, base: str, links: dict[str, str]) -> list[WorkFinding]:
        head = await self._repo.tip(folder)
        places, new = await submodules(self._repo, folder, base)
        found = [WorkFinding("nested", _shown(name)) for name in links if name not in places]
        found += [WorkFinding("new-submodule", _shown(name)) for name in sorted(new)]
        wanted = {name: sha for name, sha in links.items() if name in places - new}
        if not wanted:
            return found
        # A fresh checkout gets what another clone would get; refs of this one prove nothing.
        async with self._scratch.checkout(head, base) as path:
            missing = [
                name
                for name, sha in wanted.items()
                if await self._head_of_submodule(os.path.join(path, name)) != sha
            ]
            notices = await fetch_submodules(self._repo, path, base) if missing else ()
        said = "".join(notices)
        return found + [WorkFinding("submodule", _shown(name), said=said) for name in missing]

    async def _head_of_submodule(self, path: str) -> str | None:
        at = own_checkout(path)
        asked = ("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return (await self._repo.door.run(at, *asked)).text if at is not None else None


def _shown(name: str) -> str:
    return printable(name.rstrip("/"))


def _size(path: str) -> int:
    found = entry_at(path)  # nothing if it was removed
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else 0
