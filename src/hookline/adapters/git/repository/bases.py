"""The branch that finished work goes into, as it is here and at its remote."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.git.door import HALF_MADE, NETWORK
from hookline.adapters.git.refs import is_plain_name
from hookline.adapters.git.repository.locks import WORKTREES
from hookline.domain.work.repository import BRANCH_PREFIX, RepositoryError

if TYPE_CHECKING:
    from hookline.adapters.git.repository.plumbing import Plumbing


class KnownBase(NamedTuple):
    """A base branch as it is now: the newest commit known, and what could not be learnt."""

    name: str
    sha: str
    remote: str | None
    notices: tuple[str, ...] = ()


class Bases:
    """Which branch work goes into, and where it is now.

    `unborn` says that the chosen branch had no commit then and may never get one. `remote` is the
    one that the configuration names; an empty one means to use none.
    """

    def __init__(self, repo: Plumbing, *, unborn: bool, remote: str | None) -> None:
        self._repo = repo
        self._was_unborn = unborn
        self._wanted_remote = remote
        self._checked: set[str] = set()

    async def branch(self) -> str:
        wanted = self._repo.wanted_base
        if wanted is not None and (self.is_chosen or await self._has_branch(wanted)):
            return (await self.known(wanted)).name
        if await self._has_no_commits():
            help = "make a first commit, then try again"
            raise RepositoryError("the repository has no commits yet", help=help)
        usual = ("main", "master")
        here = await self._remote_head() or await self._repo.branch(self._repo.root)
        # A branch that got another name before its first commit is rather one of those.
        for name in (here, *usual) if wanted is None else (*usual, here):
            if name and not name.startswith(BRANCH_PREFIX) and await self._has_branch(name):
                return name
        help = "check out the branch to merge into, or set `gates: {base: NAME}`"
        words = "no branch is checked out, and there is neither main nor master"
        raise RepositoryError(words, help=help)

    @property
    def is_chosen(self) -> bool:
        return self._repo.wanted_base is not None and not self._was_unborn

    async def unborn_branch(self) -> str | None:
        return await self._repo.branch(self._repo.root) if await self._has_no_commits() else None

    async def is_named(self) -> bool:
        return self.is_chosen or await self._remote_head() is not None

    async def fetch(self, base: str) -> KnownBase:
        """The base as the remote has it now; a remote that does not answer is a notice."""
        remote = await self.remote(base)
        if remote is None:
            return await self.known(base)
        await self.check_name(base)
        spec = f"+refs/heads/{base}:refs/remotes/{remote}/{base}"
        async with self._repo.exclusive("fetch"):
            asked = ("fetch", "--quiet", "--no-tags", remote, spec)
            said = await self._repo.ask(*asked, timeout=NETWORK)
            if said.code and HALF_MADE in said.err:
                async with self._repo.exclusive(WORKTREES):
                    said = await self._repo.ask(*asked, timeout=NETWORK)
        known = await self.known(base)
        if not said.code:
            return known
        # A lock that an agent left would keep what it made of the remote's branch.
        listed = await self._repo.ask("ls-remote", remote, f"refs/heads/{base}", timeout=NETWORK)
        if not listed.code and listed.text.partition("\t")[0] not in ("", known.sha):
            raise RepositoryError(f"{base} cannot be updated from {remote}: {said.err}")
        notice = f"{remote} could not be asked about {base}; using its last known state: {said.err}"
        return known._replace(notices=(notice,))

    async def known(self, base: str) -> KnownBase:
        await self.check_name(base)
        remote = await self.remote(base)
        refs = [f"refs/remotes/{remote}/{base}"] if remote is not None else []
        for ref in (*refs, f"refs/heads/{base}"):
            found = await self._repo.commit(ref)
            if found is not None:
                return KnownBase(base, found, remote)
        help = "`git branch --all` shows those that are; `gates: {base: NAME}` in hookline.yaml"
        help += " sets the one to merge into"
        raise RepositoryError(f"there is no branch {base!r} here", help=help)

    async def remote(self, base: str) -> str | None:
        """The remote that the base lives on: as configured, the branch's own, origin, the only."""
        if self._wanted_remote == "":
            return None
        known = await self._repo.settings.remotes()
        if self._wanted_remote is not None:
            if self._wanted_remote not in known:
                words = f"there is no remote {self._wanted_remote!r}"
                raise RepositoryError(words, help="`git remote` shows them")
            return self._wanted_remote
        own = await self._repo.settings.get(f"branch.{base}.remote")
        for name in (own, "origin"):
            if name in known:
                return name
        return known[0] if len(known) == 1 else None

    async def _remote_head(self) -> str | None:
        remote = await self.remote("HEAD")
        if remote is None:
            return None
        prefix = f"refs/remotes/{remote}/"
        said = await self._repo.ask("symbolic-ref", "--quiet", f"{prefix}HEAD")
        return said.text.removeprefix(prefix) if said.text.startswith(prefix) else None

    async def _has_branch(self, name: str) -> bool:
        with suppress(RepositoryError):
            await self.known(name)
            return True
        return False

    async def _has_no_commits(self) -> bool:
        if await self._repo.commit("HEAD") is not None:
            return False
        said = await self._repo.ask("for-each-ref", "--count=1", "refs/heads", "refs/remotes")
        return not said.text

    async def check_name(self, name: str) -> None:
        if name in self._checked or is_plain_name(name):
            return
        said = await self._repo.ask("check-ref-format", f"refs/heads/{name}")
        if said.code or name.startswith("-"):
            raise RepositoryError(f"{name[:80]!r} cannot be the name of a branch")
        self._checked.add(name)

    async def head(self, base: str) -> str:
        return (await self.fetch(base)).sha

    async def holds(self, base: str, commit: str) -> bool:
        newest = await self.head(base)
        return await self._repo.is_ancestor(await self._repo.commit(commit), newest)
