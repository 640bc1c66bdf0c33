"""What must not get into a repository by mistake: large files, repositories inside of the work,
commits of submodules that nobody else can get, and files of Hookline's own."""

from __future__ import annotations

import os
import stat

from hookline.adapters.git.checkout import own_checkout
from hookline.adapters.git.door import cut, printable
from hookline.adapters.repository_merge import Merging
from hookline.adapters.repository_state import SHOWN
from hookline.domain.repository import Commit, Elsewhere, Finding
from hookline.project import is_own

_LINK = "160000"  # the mode of a commit of another repository in a tree
_REMOVED = "000000"
# What git writes into the reflog where a commit is made, and not only checked out.
_MAKING = ("commit", "cherry-pick", "revert", "am", "rebase (pick)", "rebase (continue)")
_LOOKED_AT = 1000
_RAW = ("diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")


class Inspecting(Merging):
    """Looks at what a task's work would bring into the base."""

    async def uncommitted_findings(self, folder: str, largest: int) -> tuple[Finding, ...]:
        """What must not be committed as it lies in a checkout."""
        top = self._at(folder).top
        return await self._findings(top, await self._dirty(top), largest)

    async def conflict_findings(self, folder: str, largest: int) -> tuple[Finding, ...]:
        """What must not be committed of how a conflict was resolved."""
        top = self._at(folder).top
        return await self._findings(top, await self._resolved_files(top), largest)

    async def _findings(self, top: str, names: list[str], largest: int) -> tuple[Finding, ...]:
        # Git lists every file of a folder, but a repository in it as a whole.
        nested = [Finding("nested", _shown(name)) for name in names if name.endswith("/")]
        sizes = {name: _size(os.path.join(top, name)) for name in names}
        large = [name for name in names if largest and sizes[name] > largest]
        large = await self._unfiltered(top, large) if large else []
        return (*nested, *(Finding("large", _shown(name), sizes[name]) for name in large))

    async def committed_findings(self, folder: str, base: str, largest: int) -> tuple[Finding, ...]:
        """What must not be merged of the commits that the base has not, each of them alone."""
        known = await self._known_base(base)
        large = await self._large_blobs(folder, known.sha, largest)
        said = await self._git(folder, *_RAW, f"{known.sha}...HEAD", doing="no diff")
        changed = {
            name: about.split(" ")
            for about, name in zip(said.names[::2], said.names[1::2], strict=True)
        }
        links = {name: about[3] for name, about in changed.items() if about[1] == _LINK}
        # The base's checkout would get them in the place of its own, which git takes for ignored.
        own = [
            Finding("own", _shown(name))
            for name, about in changed.items()
            if about[1] != _REMOVED and is_own(name)
        ]
        links_found = await self._links(folder, links) if links else ()
        return (*own, *large, *links_found, *await self._unwatched(folder))

    async def _unwatched(self, folder: str) -> tuple[Finding, ...]:
        """Files that git was told not to look at: gates see them as they are not committed.

        In a sparse checkout those that are left out are not there; elsewhere that hides them.
        """
        said = await self._git(folder, "ls-files", "-v", "-z", doing="the files are unknown")
        top = self._at(folder).top
        marked = [name[2:] for name in said.names if name[0].islower() or name[0] == "S"]
        if marked and await self._settings.get("core.sparsecheckout") == "true":
            marked = [name for name in marked if os.path.lexists(os.path.join(top, name))]
        return tuple(Finding("unwatched", _shown(name)) for name in marked)

    async def work_elsewhere(self, folder: str, base: str, start: str | None) -> Elsewhere | None:
        """Where the work went, of a branch that has no commits of its own; None if there is none.

        There is none if the branch is still where it began, and no commit was made in its worktree.
        What we merged ourselves is where it belongs.
        """
        known, head = await self._known_base(base), await self._head(folder)
        if await self._landed(head, known.sha):
            return None
        made = await self._made_here(folder)
        missing = await self._not_in(folder, made, known.sha)
        held = [commit for commit in made if commit not in missing]
        if held:
            seen = f"{base} holds commits of the work already, past its gates: {_named(held)}"
            return Elsewhere(seen)
        if missing:
            seen = f"commits were made that the task's branch does not hold: {_named(missing)}"
            return Elsewhere(seen, lost=True)
        if start is not None and head != start:
            where = f"from {start[:12]} to {head[:12]}, which {base} holds"
            return Elsewhere(f"the task's branch was moved {where}")
        return None

    async def _made_here(self, folder: str) -> list[Commit]:
        """The commits that were made in a checkout, whatever branch they went to."""
        said = await self._git(folder, "log", "-g", "-z", "--format=%H %gs%n%s", f"-{_LOOKED_AT}")
        made = {}
        for entry in said.names:
            action, _, subject = entry.partition("\n")
            sha, _, how = action.partition(" ")
            if how.startswith(_MAKING):
                made[sha] = Commit(sha, printable(subject))
        return list(made.values())

    async def _not_in(self, folder: str, made: list[Commit], base: str) -> list[Commit]:
        if not made:
            return []
        asked = ("rev-list", "--no-walk", "--stdin")
        lines = "\n".join([*(each.sha for each in made), f"^{base}", ""])
        said = await self._git(folder, *asked, stdin=lines.encode(), doing="commits are unknown")
        found = set(said.text.splitlines())
        return [each for each in made if each.sha in found]

    async def _unfiltered(self, top: str, names: list[str]) -> list[str]:
        """The files that git would store as they are; a filter may store a short pointer."""
        said = await self._git(
            *(top, "check-attr", "-z", "--stdin", "filter"),
            stdin=b"".join(os.fsencode(name) + b"\0" for name in names),
            doing="attributes are unknown",
        )
        found = said.out.decode("utf-8", "surrogateescape").split("\0")
        filters = dict(zip(found[::3], found[2::3], strict=False))
        return [name for name in names if filters.get(name) in ("unspecified", "unset", "")]

    async def _large_blobs(self, folder: str, base: str, largest: int) -> list[Finding]:
        commits = f"{base}..HEAD"
        limit = (f"--filter=blob:limit={largest + 1}", "--filter-print-omitted") if largest else ()
        said = await self._check_objects(folder, *limit, commits)
        blobs = [line[1:] for line in said.text.splitlines() if line.startswith("~")]
        found = []
        for blob in blobs[:SHOWN]:
            where = ("--format=", "--name-only", "--no-renames", "-m", "-z")
            names = await self._git(folder, "log", *where, f"--find-object={blob}", commits)
            size = await self._git(folder, "cat-file", "-s", blob, doing="its size is unknown")
            name = next(iter(names.names), blob)
            found.append(Finding("large", _shown(name), int(size.text)))
        return found

    async def _links(self, folder: str, links: dict[str, str]) -> list[Finding]:
        head = await self._head(folder)
        modules = await self._modules(folder, head)
        nested = [Finding("nested", _shown(name)) for name in links if name not in modules]
        wanted = {name: sha for name, sha in links.items() if name in modules}
        if not wanted:
            return nested
        # A fresh checkout gets what another clone would get; refs of this one prove nothing.
        async with self.scratch(head) as path:
            missing = [
                name
                for name, sha in wanted.items()
                if await self._head_of_submodule(os.path.join(path, name)) != sha
            ]
            notices = await self._submodules(path) if missing else ()
        said = "".join(notices)
        return nested + [Finding("submodule", _shown(name), said=said) for name in missing]

    async def _head_of_submodule(self, path: str) -> str | None:
        at = own_checkout(path)
        asked = ("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return (await self._door.run(at, *asked)).text if at is not None else None

    async def _modules(self, folder: str, head: str) -> set[str]:
        """The places of submodules, as the commit itself names them."""
        paths = ("config", "-z", "--blob", f"{head}:.gitmodules", "--get-regexp", r"\.path$")
        said = await self._git(folder, *paths)
        return {entry.partition("\n")[2] for entry in said.names}


def _shown(name: str) -> str:
    return printable(name.rstrip("/"))


def _named(commits: list[Commit]) -> str:
    shown = ", ".join(f"{each.sha[:12]} {cut(each.subject, 72)}" for each in commits[:3])
    return shown + f" and {len(commits) - 3} more" * (len(commits) > 3)


def _size(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:  # it was removed, or was never a file
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
