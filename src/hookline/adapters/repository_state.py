"""Looking at a repository: what state it is in, what its base is, and how work differs from it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.adapters.git.checkout import BrokenWorktree, NoRepository, checkout_of
from hookline.adapters.git.door import NETWORK, Git, GitFailed, NoGit, printable
from hookline.adapters.git.reading import INITIAL, STATUS, branch_in, read_status
from hookline.adapters.git.refs import plain_commit
from hookline.adapters.git.settings import Settings
from hookline.adapters.repository_locks import exclusive
from hookline.domain.repository import (
    BRANCH_PREFIX,
    Commit,
    Operation,
    Problem,
    RepositoryError,
    RepositoryState,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from hookline.adapters.git.checkout import Checkout
    from hookline.adapters.git.door import Said
    from hookline.adapters.git.reading import Status
    from hookline.ports.processes import Processes

SHOWN = 20
_OPERATIONS: Mapping[str, Operation] = {
    "rebase-merge": "rebase",
    "rebase-apply/applying": "am",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


class Base(NamedTuple):
    """A base branch as it is now: the newest commit known, and what could not be learnt."""

    name: str
    sha: str
    remote: str | None
    notices: tuple[str, ...] = ()


class Looking:
    """What can be learnt without changing anything but remote-tracking refs.

    `root` is the project's folder and `folder` its `.hookline`. `base` is the branch that was
    chosen, `unborn` that it had no commit then and may never get one; `remote` is the one that the
    configuration names; an empty `remote` means to use none.
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
    ) -> None:
        self._door = Git(processes, environ, trusted=trusted)
        self.root = root
        self.folder = folder
        self._wanted_base = base
        self._base_was_unborn = unborn
        self._wanted_remote = remote
        self._checked: set[str] = set()
        self._settings = Settings(self._git, root, lambda: self._common)

    async def describe(self, folder: str | None = None) -> RepositoryState:
        """The state of the repository that a folder lies in, with what stands in the way."""
        folder = folder or self.root
        asked = ("--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository")
        try:
            doing = f"{folder} cannot be read as a repository"
            said = await self._git(folder, "rev-parse", *asked, doing=doing, as_writer=True)
        except NoGit as problem:
            return _unusable("no-git", problem.message, problem.help or "install git")
        except NoRepository:
            words = f"{folder} is not in a git repository"
            return _unusable("no-repository", words, "run `git init` there")
        except BrokenWorktree as problem:
            help = "`hookline run --task ID` ties it to the repository again, its files untouched"
            return _unusable("broken-worktree", problem.message, help)
        except GitFailed as problem:
            return _unusable("unreadable", problem.message, "run `git status` there")
        bare, inside, shallow = (word == "true" for word in said.text.split())
        if bare or not inside:
            return _unusable("bare", f"{folder} has no working tree", "work in a clone of it", bare)
        return await self._describe_checkout(folder, shallow)

    async def _describe_checkout(self, folder: str, shallow: bool) -> RepositoryState:
        top = self._at(folder).top
        commit, dirty = await self._status(folder)
        state = RepositoryState(
            in_repository=True,
            top=top,
            head=None if commit == INITIAL else commit,
            branch=await self._branch(folder),
            remotes=tuple(await self._settings.remotes()),
            shallow=shallow,
            submodules=os.path.lexists(os.path.join(top, ".gitmodules")),
            dirty=tuple(printable(name) for name in dirty[:SHOWN]),
            dirty_count=len(dirty),
            operation=await self._operation(folder),
        )
        return _with_problems(state, not await self._settings.has_identity(folder))

    async def base_branch(self) -> str:
        """The branch that finished work goes into."""
        wanted = self._wanted_base
        if wanted is not None and (self.base_is_chosen or await self._has_branch(wanted)):
            return await self._existing(wanted)
        if await self._has_no_commits():
            raise RepositoryError(
                "the repository has no commits yet", help="make a first commit, then try again"
            )
        usual = ("main", "master")
        here = await self._remote_head() or await self._branch(self.root)
        # A branch that got another name before its first commit is rather one of those.
        for name in (here, *usual) if wanted is None else (*usual, here):
            if name and not name.startswith(BRANCH_PREFIX) and await self._has_branch(name):
                return name
        raise RepositoryError(
            "no branch is checked out, and there is neither main nor master to work towards",
            help="check out the branch that work goes into, or name it in the configuration",
        )

    @property
    def base_is_chosen(self) -> bool:
        """Whether the base is known without a look at the repository."""
        return self._wanted_base is not None and not self._base_was_unborn

    async def unborn_branch(self) -> str | None:
        """The branch that the first commit will be on; None once there is a commit."""
        return await self._branch(self.root) if await self._has_no_commits() else None

    async def base_is_named(self) -> bool:
        """Whether the base was chosen, or the remote says what it is."""
        return self.base_is_chosen or await self._remote_head() is not None

    async def merge_base(self, folder: str, base: str) -> str:
        """The commit at which the work in a folder left the base."""
        return await self._fork(folder, (await self._known_base(base)).sha)

    async def commits_ahead(self, folder: str, base: str, head: str = "HEAD") -> int:
        """How many commits the work in a folder has that the base has not."""
        known = await self._known_base(base)
        tip = head if head == "HEAD" else await self._sha(folder, head)
        said = await self._git(folder, "rev-list", "--count", f"{known.sha}..{tip}")
        if tip is None or said.code:
            raise RepositoryError(f"there is no commit {head[:80]!r} in {folder}")
        return int(said.text)

    async def commits(self, folder: str, base: str, limit: int = 100) -> list[Commit]:
        """The newest commits that the work in a folder has and the base has not, oldest first."""
        known = await self._known_base(base)
        newest = ("log", "--format=%H %s", "-z", f"--max-count={limit}")
        said = await self._git(folder, *newest, f"{known.sha}..HEAD", doing="no commits to list")
        pairs = [printable(line).partition(" ") for line in said.names]
        return [Commit(sha, subject) for sha, _, subject in reversed(pairs)]

    async def changed_files(self, folder: str, base: str, head: str = "HEAD") -> list[str]:
        """The files that the commits in a folder change, from where they left the base."""
        fork = await self._fork(folder, (await self._known_base(base)).sha, head)
        asked = ("diff", "--name-only", "--no-renames", "--ignore-submodules=none", "-z")
        said = await self._git(folder, *asked, fork, head, doing="no diff")
        return sorted(printable(name) for name in said.names)

    async def changed_between(self, older: str, newer: str) -> list[str]:
        """The project's files in which two commits differ, each by its path from the root."""
        said = await self._git(
            self.root,
            *("diff", "--name-only", "--no-renames", "--relative", "-z", older, newer),
            doing="no diff",
        )
        return said.names

    async def fetch(self, base: str) -> Base:
        """The base as the remote has it now; a remote that does not answer is a notice."""
        remote = await self._remote(base)
        if remote is None:
            return await self._known_base(base)
        await self._check_branch(base)
        spec = f"+refs/heads/{base}:refs/remotes/{remote}/{base}"
        async with self._exclusive("fetch"):
            said = await self._git(
                self.root, "fetch", "--quiet", "--no-tags", remote, spec, timeout=NETWORK
            )
        known = await self._known_base(base)
        if not said.code:
            return known
        notice = f"{remote} could not be asked for {base}, the last known state is used: {said.err}"
        return known._replace(notices=(notice,))

    async def _known_base(self, base: str) -> Base:
        await self._check_branch(base)
        remote = await self._remote(base)
        refs = [f"refs/remotes/{remote}/{base}"] if remote is not None else []
        for ref in (*refs, f"refs/heads/{base}"):
            found = await self._sha(self.root, ref)
            if found is not None:
                return Base(base, found, remote)
        raise RepositoryError(
            f"there is no branch {base!r} here",
            help="`git branch --all` shows those that are; `gates: {base: NAME}` in hookline.yaml"
            " names the one that work goes into",
        )

    async def _fork(self, folder: str, other: str, head: str = "HEAD") -> str:
        said = await self._git(folder, "merge-base", other, head)
        if said.code or not said.text:
            shallow = (await self._git(folder, "rev-parse", "--is-shallow-repository")).text
            raise RepositoryError(
                "the work and its base have no commit in common",
                help="this clone is shallow: run `git fetch --unshallow`"
                if shallow == "true"
                else "start the work anew from the base",
            )
        return said.text

    async def _remote(self, base: str) -> str | None:
        """The remote that the base lives on: as configured, the branch's own, origin, the only."""
        if self._wanted_remote == "":
            return None
        known = await self._settings.remotes()
        if self._wanted_remote is not None:
            if self._wanted_remote not in known:
                raise RepositoryError(
                    f"there is no remote {self._wanted_remote!r}", help="`git remote` shows them"
                )
            return self._wanted_remote
        own = await self._settings.get(f"branch.{base}.remote")
        for name in (own, "origin"):
            if name in known:
                return name
        return known[0] if len(known) == 1 else None

    async def _remote_head(self) -> str | None:
        remote = await self._remote("HEAD")
        if remote is None:
            return None
        prefix = f"refs/remotes/{remote}/"
        said = await self._git(self.root, "symbolic-ref", "--quiet", f"{prefix}HEAD")
        return said.text.removeprefix(prefix) if said.text.startswith(prefix) else None

    async def _existing(self, base: str) -> str:
        await self._known_base(base)
        return base

    async def _has_branch(self, name: str) -> bool:
        try:
            await self._known_base(name)
        except RepositoryError:
            return False
        return True

    async def _has_no_commits(self) -> bool:
        if await self._sha(self.root, "HEAD") is not None:
            return False
        said = await self._git(self.root, "for-each-ref", "--count=1", "refs/heads", "refs/remotes")
        return not said.text

    async def _check_branch(self, name: str) -> None:
        if name in self._checked:
            return
        said = await self._git(self.root, "check-ref-format", f"refs/heads/{name}")
        if not said.code and not name.startswith("-"):
            self._checked.add(name)
        else:
            raise RepositoryError(f"{name[:80]!r} cannot be the name of a branch")

    async def _branch(self, folder: str) -> str | None:
        """The branch that is checked out; None when a commit is."""
        return (await self._ref(folder)).removeprefix("refs/heads/") or None

    async def _ref(self, folder: str) -> str:
        """The whole name of the branch that is checked out; nothing when a commit is."""
        if (name := branch_in(self._at(folder).git_dir)) is not None:
            return f"refs/heads/{name}"
        return (await self._git(folder, "symbolic-ref", "--quiet", "HEAD")).text

    async def _dirty(self, folder: str) -> list[str]:
        """Files that are not committed, ignored ones aside."""
        return (await self._status(folder)).names

    async def _status(self, folder: str) -> Status:
        said = await self._git(folder, *STATUS, doing="what is uncommitted is unknown")
        return read_status(said.names)

    async def _sha(self, folder: str, name: str) -> str | None:
        """The commit that a full ref or a hash names; None when there is none."""
        if name.startswith("-") or any(c.isspace() for c in name):
            return None
        if (found := plain_commit(self._at(folder), name)) is not None:
            return found
        said = await self._git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text or None if not said.code else None

    async def _is_ancestor(self, folder: str, older: str, newer: str) -> bool:
        said = await self._git(folder, "merge-base", "--is-ancestor", older, newer)
        return said.code == 0

    @property
    def _worktrees(self) -> str:
        return os.path.join(self.folder, "worktrees")

    def _at(self, folder: str) -> Checkout:
        """The checkout that a folder lies in, verified anew for every git."""
        return checkout_of(folder, self._worktrees)

    async def _git(self, folder: str, *args: str, **options: Any) -> Said:
        return await self._door.run(self._at(folder), *args, **options)

    @property
    def _common(self) -> str:
        """The git folder that all worktrees of the repository share."""
        return self._at(self.root).common

    def _exclusive(self, name: str) -> AbstractAsyncContextManager[None]:
        """The lock of that name: `async with self._exclusive("merge"):`."""
        return exclusive(self._common, name)

    async def _operation(self, folder: str) -> Operation | None:
        """What git is in the middle of."""
        place = self._at(folder).git_dir
        for name, operation in _OPERATIONS.items():
            if os.path.exists(os.path.join(place, name)):
                return operation
        return None


def _unusable(code: str, message: str, help: str, bare: bool = False) -> RepositoryState:
    problem = Problem(code, message, help, blocks=True)
    return RepositoryState(in_repository=bare, bare=bare, problems=(problem,))


def _with_problems(state: RepositoryState, nobody: bool) -> RepositoryState:
    found: list[Problem] = []

    def add(code: str, message: str, help: str, *, blocks: bool = False) -> None:
        found.append(Problem(code, message, help, blocks))

    if state.head is None:
        add("no-commits", "the repository has no commits yet", "make a first commit", blocks=True)
    if nobody:
        add(
            "no-identity",
            "git does not know who commits here",
            "run `git config user.name NAME` and `git config user.email ADDRESS`",
            blocks=True,
        )
    if state.operation is not None:
        add(
            "unfinished",
            f"git is in the middle of a {state.operation}",
            f"finish it, or run `git {state.operation} "
            f"{'reset' if state.operation == 'bisect' else '--abort'}`",
        )
    elif state.detached:
        add("detached", "no branch is checked out", "run `git switch BRANCH`")
    if state.dirty_count:
        add(
            "uncommitted",
            f"{state.dirty_count} uncommitted files, such as {state.dirty[0]}",
            "commit them if tasks are to see them; otherwise they stay as they are",
        )
    if state.shallow:
        add(
            "shallow",
            "this clone is shallow: work cannot always be compared with its base",
            "run `git fetch --unshallow`",
        )
    if not state.remotes:
        add("no-remote", "there is no remote: work is merged here only", "`git remote add` one")
    return msgspec.structs.replace(state, problems=tuple(found))
