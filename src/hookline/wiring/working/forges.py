"""The project's forge, and whether it and the remote allow what the settings require."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.work.forge import ForgeError, ForgeSetup, ForgeTemporary, MergePlan
from hookline.domain.work.repository import RepositoryError, SetupProblem
from hookline.domain.work.submissions import PEOPLE
from hookline.errors import BrokenPlugin
from hookline.plugins import FORGES
from hookline.ports.leases import prove_lease
from hookline.ports.work import Forge, ForgeKind, ForgeSite
from hookline.wiring.project.clones import is_shared
from hookline.wiring.project.configured import cleaner, is_trusted
from hookline.wiring.working.repositories import repository

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from hookline.app import App
    from hookline.config import Settings
    from hookline.config.types import Gates, Sections
    from hookline.domain.text.cleaning import Cleaner
    from hookline.ports.repository import Repository
    from hookline.ports.store import Store, Transaction
    from hookline.ports.work import SharedPulls
    from hookline.project import Project


def shared_pulls(app: App) -> SharedPulls | None:
    """The records in the store; None if it belongs to this folder alone."""
    return StoredPulls(app.store) if is_shared(app) else None


class StoredPulls:
    """Records of pull requests in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._change: Transaction | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._store.write({}) as self._change:
            try:
                yield
            finally:
                self._change = None

    def read(self, number: int) -> bytes | None:
        view = self._change or self._store.live()
        return _bytes(view.pull_requests.read(number))

    def open_of(self, branch: str, base: str) -> bytes | None:
        view = self._change or self._store.live()
        return _bytes(view.pull_requests.open_of(branch, base))

    def last(self) -> int:
        return (self._change or self._store.live()).pull_requests.last()

    def write(self, number: int, branch: str, base: str, is_open: bool, data: bytes) -> None:
        assert self._change is not None  # others would overwrite it
        self._change.pull_requests.write(
            number, branch, base, is_open=is_open, record=data.decode()
        )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


_REACH = "check whether it can be reached from here (GITHUB_API_URL, HTTPS_PROXY), or try later"


class DeferredForge:
    """A forge that is opened when it is first asked: most runs never ask.

    Whoever works under a lease asks only while it holds that.
    """

    def __init__(
        self,
        name: str,
        push_remote: str | None,
        kind: ForgeKind,
        open_forge: Callable[[], Awaitable[Forge]],
    ) -> None:
        self.name = name
        self.push_remote = push_remote
        self.merges = kind.MERGES
        # A plugin of before these were declared has them if it has a server.
        self.has_checks = getattr(kind, "CHECKS", _has_server(kind))
        self.has_reviews = getattr(kind, "REVIEWS", _has_server(kind))
        self._open_forge = open_forge
        self._forge: Forge | None = None

    def __getattr__(self, act: str) -> Any:
        async def ask(*args: Any, **more: Any) -> Any:
            if self._forge is None:
                self._forge = await self._open_forge()
            prove_lease()
            return await getattr(self._forge, act)(*args, **more)

        return ask


def _has_server(kind: ForgeKind) -> bool:
    """Whether someone else than this machine could refuse the work."""
    return kind.MERGES or kind.REMOTE is not None


def forge(app: App) -> Forge:
    """Where the project's pull requests are made."""
    gates = app.sections.gates
    kind: ForgeKind = FORGES.load(gates.forge)
    remote = gates.remote or kind.REMOTE

    async def open_forge() -> Forge:
        git = repository(app)
        return await kind.open_forge(
            _site(app.project, gates, remote, git, app.environ, app.cleaner, shared_pulls(app))
        )

    return cast("Forge", DeferredForge(gates.forge, remote, kind, open_forge))


def _site(
    project: Project,
    gates: Gates,
    remote: str | None,
    git: Repository,
    environ: Mapping[str, str],
    cleaner: Cleaner,
    pulls: SharedPulls | None = None,
) -> ForgeSite:
    return ForgeSite(
        folder=project.folder,
        remote=remote,
        remote_url=lambda: git.remote_url(remote or ""),
        environ=environ,
        api=gates.api,
        options=gates.options,
        cleaner=cleaner,
        pulls=pulls,
    )


def is_remote(name: str) -> bool:
    """Whether the forge of that name is a server; one that cannot be loaded may be."""
    try:
        return _has_server(FORGES.load(name))
    except BrokenPlugin:
        return True


async def forge_problems(
    project: Project,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    ask: bool,
    trusted: bool = False,
) -> list[SetupProblem]:
    """What the forge would refuse; without `ask` only what is known offline.

    The remote is asked as well, by git, which does so only in a repository that is trusted.
    """
    sections, clean = settings.sections, cleaner(settings, environ)
    gates = sections.gates
    git = GitRepository(
        LocalProcesses(project.blobs, clean, exact=True),
        project.root,
        project.folder,
        environ,
        base=gates.base,
        remote=gates.remote,
        trusted=trusted,
        clean=clean.text,
    )
    try:
        kind: ForgeKind = FORGES.load(gates.forge)
    except BrokenPlugin as broken:
        return [SetupProblem(broken.code, broken.message, broken.help or "", blocks=True)]
    remote = gates.remote or kind.REMOTE
    site = _site(project, gates, remote, git, environ, clean)
    found = await _of_forge(kind, site, git, sections, ask=ask)
    if ask and trusted and not any(each.blocks for each in found):
        problem = await git.pushes.problem(remote if kind.REMOTE else None)
        found += [problem] if problem is not None else []
    return found


async def _of_forge(
    kind: ForgeKind, site: ForgeSite, git: Repository, sections: Sections, *, ask: bool
) -> list[SetupProblem]:
    try:
        forge = await kind.open_forge(site)
        if not ask or not _has_server(kind):  # nothing there could be refused
            return []
        return await forge.problems(_plan(sections, await git.bases.branch()))
    except (RepositoryError, ForgeError) as problem:
        help = _REACH if isinstance(problem, ForgeTemporary) else problem.help or ""
        return [SetupProblem(problem.code, problem.message, help, blocks=True)]


def _plan(sections: Sections, base: str) -> MergePlan:
    gates = sections.gates
    skips = any(each.skip_pr for each in sections.task_types.values())
    return MergePlan(base, None if gates.merge == PEOPLE else gates.method, skips)


async def check_forge(app: App) -> list[SetupProblem]:
    """Refuse to start if the forge would refuse the work in the end; warnings otherwise."""
    if app.settings is None:
        return []
    found = await forge_problems(
        app.project, app.settings, app.environ, ask=True, trusted=is_trusted(app)
    )
    for problem in found:
        if problem.blocks:
            raise ForgeSetup(problem.message, help=problem.help)
    return found
