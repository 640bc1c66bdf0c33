"""What calls hooks, put together: a command that has one to call loads this, and only this."""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hookline.adapters.identity import kill_group, kill_marked, owner_is_gone
from hookline.adapters.process import LocalProcesses
from hookline.adapters.store.sqlite import SqliteStore
from hookline.errors import HooklineError, Untrusted
from hookline.hooks.calls.call import Caller, Surroundings
from hookline.hooks.calls.delivery import Deliverer, Owner
from hookline.hooks.calls.record import Recorder
from hookline.hooks.frames import DRY_RUN
from hookline.hooks.registry import HookContext
from hookline.ports.processes import ProcessGroup
from hookline.project import CONFIG_NAME, user_folder
from hookline.trust import Watch, under_agent
from hookline.trust.manifest import MISSING, examine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.adapters.agents.drivers import LocalAgents
    from hookline.adapters.git.work import GitWork
    from hookline.adapters.repository import GitRepository
    from hookline.app import App
    from hookline.config.types import Sections
    from hookline.domain.turns import Purpose, TurnCost
    from hookline.hooks.registry import Hook
    from hookline.ports.agents import Agents
    from hookline.ports.network import Http
    from hookline.ports.processes import Processes
    from hookline.ports.work import Forge, Repository
    from hookline.trust import MergeTrust, Worktrees


UNPAID_TRIAL = "only people try hooks that ask agents: such a turn is in nobody's budget"


class _Deferred:
    """Stands for a part that most hooks never ask for, and is loaded with the first that does."""

    def __init__(self, load: Callable[[], object]) -> None:
        self._load = load

    @cached_property
    def _loaded(self) -> object:
        return self._load()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)


def deliverer(app: App) -> Deliverer:
    """Everything that delivery needs, put together for one project."""
    return Deliverer(
        app.store,
        app.settling,
        recorder(app),
        owner_of(app),
        metadata=app.metadata(),
        tell=app.tell,
    )


def recorder(app: App) -> Recorder:
    """What makes and records the calls of hooks."""
    return Recorder(app.store, caller(app), change=app.change, suspended=app.suspended.get)


def caller(app: App) -> Caller:
    """What calls hooks, with everything they need around them."""
    processes = LocalProcesses(app.project.blobs, app.cleaner, reaper=app.reaper)

    async def changed(folder: str) -> list[str]:
        return await git_work(app).changed_files(folder)

    return Caller(
        Surroundings(
            root=app.project.root,
            folder=app.project.folder,
            environ=app.environ,
            processes=processes,
            http=cast("Http", _Deferred(lambda: _http(app))),
            verify=_verifier(app),
            cleaner=app.cleaner,
            agents=cast("Agents", _Deferred(lambda: _judges(app, processes))),
            repository=cast("Repository", _Deferred(lambda: repository(app))),
            forge=cast("Forge", _Deferred(lambda: forge(app))),
            changed_files=changed,
            context=app.context,
            verify_in=trees.verify if (trees := worktrees(app)) else lambda hook, folder: None,
            tell_task=lambda payload: _tell_task(app, payload),
        )
    )


def _tell_task(app: App, payload: Mapping[str, Any]) -> str | None:
    from hookline.flows.judged import renewed_task

    if not os.path.exists(app.project.database):  # a program asks, where no task is yet
        return None
    with app.read() as view:
        return renewed_task(view, payload)


def git_processes(app: App) -> Processes:
    """What git is started with: names, hashes and diffs come exactly as they are."""
    return LocalProcesses(app.project.blobs, app.cleaner, exact=True)


def _http(app: App) -> Http:
    from hookline.adapters.http import HttpClient

    return HttpClient(app.cleaner)


def live_context(app: App) -> HookContext:
    """A context over a connection of its own: what a hook reads is what is stored now."""
    store = SqliteStore(app.store.path, read_only=True)

    def start(workflow: str, context: dict[str, Any]) -> str:
        if app.environ.get("HOOKLINE_IDEMPOTENCY_KEY") == DRY_RUN:
            raise HooklineError(f"a dry run does not start '{workflow}'")
        return app.writable().change(lambda tx: app.start_flow(tx, workflow, context))

    view = store.live()
    return HookContext(view.graph, view.log, start)


def owner_of(app: App) -> Owner:
    """This process as a holder of leases."""
    return Owner(
        app.owner, lambda owner, until: _is_free(app, owner, until), _end_child, _end_strays
    )


def _verifier(app: App) -> Callable[[Hook], Awaitable[None]]:
    verify_all = verifier(app)

    async def verify(hook: Hook) -> None:
        if hook.layer == "project":
            await verify_all()

    return verify


def verifier(app: App) -> Callable[[], Awaitable[None]]:
    """What a watcher does, but for files that a merge of ours is writing at the moment."""
    verify = watcher(app)

    async def verify_at_rest() -> None:
        try:
            verify()
        except Untrusted as problem:
            from hookline.domain.repository import RepositoryError

            try:
                async with repository(app).at_rest():
                    verify()
            except RepositoryError:  # where there is none, nothing is merged
                raise problem from None

    return verify_at_rest


def watcher(app: App) -> Callable[[], None]:
    """Raises Untrusted once something that the repository brings is not what was trusted."""
    # Who trusts a folder for ever wants to edit its hooks while they are in use.
    if app.trust is None or app.settings is None or app.trust.verdict.always:
        return lambda: None
    return Watch(
        app.project, app.trust.manifest, app.settings.hooks, renew=app.renewed_trust
    ).verify


def is_current(app: App) -> bool:
    """Whether the configuration is the one that this process began with."""
    if app.trust is None or app.trust.verdict.always:
        return True
    began = app.trust.manifest.files.get(CONFIG_NAME, MISSING)
    return examine(app.project, app.project.config).digest == began


def merge_trust(app: App) -> MergeTrust | None:
    """What compares work with what is trusted before it is merged; None where everything is."""
    from hookline.trust import Manifest, MergeTrust, TrustBook

    if app.trust is not None and app.trust.verdict.always:
        return None
    home = user_folder(app.environ)
    manifest = app.trust.manifest if app.trust is not None else Manifest("", ())
    return MergeTrust(app.project, home, TrustBook(home), app.settings, manifest)


def worktrees(app: App) -> Worktrees | None:
    """What compares worktrees with the project; None where everything is trusted."""
    if app.trust is None or app.trust.verdict.always:
        return None
    from hookline.trust import Worktrees

    return Worktrees(app.project)


def repository(app: App) -> GitRepository:
    """The project's repository."""
    from hookline.adapters.repository import GitRepository
    from hookline.tasks.work_record import pinned_base

    sections = sections_of(app)
    wanted = sections.gates if sections is not None else None
    named = wanted.base if wanted else None
    with app.read() as view:
        pinned = pinned_base(view)
    return GitRepository(
        git_processes(app),
        app.project.root,
        app.project.folder,
        app.environ,
        base=named or (pinned.branch if pinned else None),
        unborn=not named and pinned is not None and pinned.unborn,
        remote=wanted.remote if wanted else None,
        trusted=is_trusted(app),
    )


def is_trusted(app: App) -> bool:
    """Whether git may do more here than look."""
    return app.trust is None or app.trust.verdict.trusted


def git_work(app: App) -> GitWork:
    """What was done to the files of the project and its worktrees."""
    from hookline.adapters.git.work import GitWork

    objects = os.path.join(app.project.folder, "objects")
    return GitWork(git_processes(app), app.environ, objects, trusted=is_trusted(app))


def forge(app: App) -> Forge:
    """Where the project's pull requests are made."""
    from hookline.adapters.forges.deferred import DeferredForge
    from hookline.adapters.forges.local import LocalForge

    sections = sections_of(app)
    wanted = sections.gates if sections is not None else None
    remote = wanted.remote if wanted else None
    if wanted is None or wanted.forge == "local":
        return LocalForge(os.path.join(app.project.folder, "pulls"), push_remote=remote)
    name = remote or "origin"

    async def reach() -> Forge:
        from hookline.adapters.forges.github import github_forge  # brings an HTTP client

        url = await repository(app).remote_url(name)
        return github_forge(url, app.environ, api=wanted.api, push_remote=name, cleaner=app.cleaner)

    return DeferredForge("github", name, True, reach)


def agents(app: App, processes: Processes) -> LocalAgents:
    """The agents of a project, started by these processes."""
    from hookline.adapters.agents.drivers import LocalAgents
    from hookline.flows.spending import record_turn, refusal

    # A hook that is only tried belongs to nothing, be there a store or not.
    is_trial = app.store.read_only or not os.path.exists(app.project.database)

    def record(purpose: Purpose, cost: TurnCost) -> None:
        if not is_trial:
            app.change(record_turn, purpose, cost)

    def refuse(purpose: Purpose) -> str | None:
        if is_trial:
            return UNPAID_TRIAL if under_agent(app.environ) else None
        spent = app.spent()
        with app.read() as view:
            return refusal(view, purpose, app.metadata(), spent)

    profiles = app.settings.agents if app.settings is not None else {}
    default = app.settings.agent if app.settings is not None else None
    return LocalAgents(profiles, default, app.project.root, processes, app.cleaner, record, refuse)


def _judges(app: App, processes: Processes) -> Agents:
    """Agents that hooks ask; each is the program that was trusted."""
    from hookline.trust import TrustedJudges

    found, trees = agents(app, processes), worktrees(app)
    if trees is None or app.settings is None:
        return found
    return TrustedJudges(found, app.settings.agents, app.settings.agent, trees)


def sections_of(app: App) -> Sections | None:
    """What the configuration says besides hooks, if there is one."""
    return app.settings.sections if app.settings is not None else None


def _is_free(app: App, owner: str, until: float) -> bool:
    return owner == app.owner or until < time.time() or owner_is_gone(owner)


def _end_strays(key: str) -> None:
    kill_marked(f"HOOKLINE_IDEMPOTENCY_KEY={key}".encode())


def _end_child(child: str) -> None:
    kill_group(msgspec.json.decode(child, type=ProcessGroup))
