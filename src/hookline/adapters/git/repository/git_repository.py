"""The git side of gates: everything that Hookline does in a repository, put together.

Every act looks first, then acts, then proves what it did; it is harmless when repeated after a
crash, and leaves a clean tree when it fails.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.git.door import printable
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.changes import Changes, Trailers
from hookline.adapters.git.repository.conflicts import ConflictFiles
from hookline.adapters.git.repository.control import control_state
from hookline.adapters.git.repository.copies import Copies
from hookline.adapters.git.repository.findings import Findings
from hookline.adapters.git.repository.history import History
from hookline.adapters.git.repository.merge import FastForwards, Merges
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.push import Pushes
from hookline.adapters.git.repository.resolving import Conflicts, KeptBase
from hookline.adapters.git.repository.state import describe
from hookline.adapters.git.repository.unchecked import UncheckedCommits
from hookline.adapters.git.repository.upkeep import Upkeep
from hookline.adapters.git.repository.worktree_folders import Scratch, WorktreeFolders
from hookline.adapters.git.repository.worktrees import Worktrees
from hookline.domain.work.repository import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from hookline.domain.work.repository import RepositoryState
    from hookline.ports.processes import Processes


class GitRepository:
    """A project's repository.

    `root` is the project's folder and `folder` its `.hookline`. `base` is the branch that was
    chosen, `unborn` that it had no commit then and may never get one; `remote` is the one that the
    configuration names; an empty `remote` means to use none. `hooks_before` tells how what steers
    git was before changes of hooks that no person has accepted, and `begun_on` on which branch the
    work of a task began. `clean` takes secrets out of what people and agents wrote.
    """

    def __init__(
        self,
        processes: Processes,
        root: str,
        folder: str,
        environ: Mapping[str, str],
        *,
        base: str | None = None,
        unborn: bool = False,
        remote: str | None = None,
        trusted: bool = True,
        hooks_before: Callable[[], Sequence[Mapping[str, str]]] = list,
        begun_on: Callable[[str], str | None] = lambda _: None,
        clean: Callable[[str], str] = str,
    ) -> None:
        repo = Plumbing(processes, root, folder, environ, base, trusted, hooks_before, clean)
        upkeep, files, folders = Upkeep(repo), ConflictFiles(repo), WorktreeFolders(repo)
        scratch = Scratch(repo, folders)
        self.root = root
        self._repo, self._scratch = repo, scratch
        self.bases = Bases(repo, unborn=unborn, remote=remote)
        self.history = History(repo, self.bases)
        self.changes = Changes(repo, self.bases, upkeep)
        self.trailers = Trailers(repo, self.bases, upkeep)
        self.conflicts = Conflicts(repo, self.bases, upkeep, self.changes, KeptBase(repo), files)
        self.pushes = Pushes(repo, self.bases)
        parts = (self.changes, self.conflicts, folders)
        self.worktrees = Worktrees(repo, self.bases, upkeep, *parts, begun_on)
        self.copies = Copies(repo, self.bases, self.worktrees)
        ways = (scratch, self.pushes, FastForwards(repo, upkeep, folders), self.trailers)
        self.merges = Merges(repo, self.bases, upkeep, self.changes, files, *ways)
        self.unchecked = UncheckedCommits(repo, self.bases, folders)
        own = (self.changes, self.conflicts, scratch, self.unchecked)
        self.findings = Findings(repo, self.bases, *own)

    async def describe(self, folder: str | None = None) -> RepositoryState:
        return await describe(self._repo, folder)

    async def identity(self) -> str | None:
        with suppress(RepositoryError):  # such as where there is no repository
            said = await self._repo.git(self.root, "var", "GIT_COMMITTER_IDENT")
            return printable(said.text.rpartition(">")[0] + ">") if not said.code else None
        return None

    async def head(self, folder: str) -> str | None:
        with suppress(RepositoryError):
            return await self._repo.sha(folder, "HEAD")
        return None

    async def tree_of(self, commit: str) -> str:
        return await self._repo.objects.tree(commit)

    async def control_state(self) -> dict[str, str]:
        return await control_state(self._repo)

    async def remote_url(self, remote: str) -> str:
        said = await self._repo.git(self.root, "remote", "get-url", "--", remote)
        if not said.text:
            name = remote[:80]
            help = f"`git remote add {name} URL` adds it; `git remote -v` shows which there are"
            raise RepositoryError(f"there is no remote {name!r}", help=help)
        return said.text

    def scratch(self, sha: str, base: str) -> AbstractAsyncContextManager[str]:
        return self._scratch.checkout(sha, base)
