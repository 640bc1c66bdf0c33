"""What calls hooks: loaded by a command that has one to call."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hookline import typed
from hookline.adapters.processes.identity import end_group, kill_marked
from hookline.adapters.processes.process import LocalProcesses
from hookline.errors import HooklineError
from hookline.hooks.calls.call import CallSurroundings, HookCaller
from hookline.hooks.calls.delivery import Deliverer, Left, Owner
from hookline.hooks.calls.record import Recorder
from hookline.hooks.frames import DRY_RUN
from hookline.hooks.registry import HookContext
from hookline.ports.processes import ProcessGroup
from hookline.wiring.calling import deferred
from hookline.wiring.project.stores import open_store
from hookline.wiring.project.trusting import hook_verifier, worktrees
from hookline.wiring.running.hosts import is_free
from hookline.wiring.running.presence import lease_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App


def deliverer(app: App) -> Deliverer:
    """The delivery of one project."""
    return Deliverer(
        app.store,
        app.settling,
        recorder(app),
        owner_of(app),
        metadata=app.origin.metadata(),
        tell=app.tell,
    )


async def deliver_own(app: App) -> Left:
    """Call the hooks for what this process changed, and a few more; what is left."""
    return await deliverer(app).drain_own()


def held_calls(app: App) -> Mapping[str, int]:
    """How many waiting calls each other process holds."""
    return deliverer(app).held()


def recorder(app: App) -> Recorder:
    """What makes and records the calls of hooks."""
    return Recorder(app.store, caller(app), change=app.change, suspended=app.suspended.get)


def caller(app: App) -> HookCaller:
    """The caller of hooks, with everything they need."""
    processes = LocalProcesses(app.project.blobs, app.cleaner, reaper=app.reaper)
    return HookCaller(
        CallSurroundings(
            root=app.project.root,
            folder=app.project.folder,
            environ=app.environ,
            processes=processes,
            http=deferred.http(app),
            mail=deferred.mail(app),
            ring=partial(deferred.ring, app),
            verify=hook_verifier(app),
            cleaner=app.cleaner,
            agents=deferred.gatekeeper_agents(app, processes),
            repository=deferred.repository(app),
            forge=deferred.forge(app),
            changed_files=partial(deferred.changed_files, app),
            context=app.context,
            verify_in=trees.verify if (trees := worktrees(app)) else lambda hook, folder: None,
            tell_task=partial(deferred.tell_task, app),
        )
    )


def live_context(app: App) -> HookContext:
    """A context with its own connection: a hook reads what is stored now."""
    store = open_store(app.store.url, read_only=True, waits=True)

    def start(workflow: str, context: Mapping[str, Any]) -> str:
        if app.environ.get("HOOKLINE_IDEMPOTENCY_KEY") == DRY_RUN:
            raise HooklineError(f"a dry run does not start '{workflow}'")
        return app.writable().change(lambda tx: app.watch.start_flow(tx, workflow, context))

    view = store.live()
    return HookContext(view.graph, view.log, start)


def owner_of(app: App) -> Owner:
    """This process as a holder of leases."""
    free = partial(is_free, app.owner, app.store.time)
    return Owner(app.owner, free, _end_child, _end_strays, lease_of(app))


def _end_strays(key: str) -> None:
    kill_marked(f"HOOKLINE_IDEMPOTENCY_KEY={key}".encode())


def _end_child(child: str) -> None:
    end_group(typed.decode(child, ProcessGroup))
