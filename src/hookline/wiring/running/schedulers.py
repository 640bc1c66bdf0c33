"""The scheduler of a project: which one, and what it is given."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.store_urls import project_name, read_store_url
from hookline.errors import SchedulerError, SchedulerUnreachable
from hookline.flows.control import control
from hookline.plugins import SCHEDULERS
from hookline.ports.schedulers import SchedulerSite
from hookline.version import __version__
from hookline.wiring.calling.calls import owner_of
from hookline.wiring.project.stores import is_here
from hookline.wiring.running.presence import own_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.config.types import SchedulerSection
    from hookline.domain.runs.model import Run
    from hookline.domain.work.repository import SetupProblem
    from hookline.flows.engine import Engine
    from hookline.ports.feeds import Wakeup
    from hookline.ports.schedulers import Scheduler, SchedulerKind
    from hookline.ports.store import View

LOCAL = "local"
CANCELLED = "its workflow was cancelled"


def choose(app: App, kind: str | None) -> SchedulerSection:
    """The scheduler as configured, or another one that a person names for a command."""
    settings = app.sections.scheduler
    chosen = settings if kind is None else msgspec.structs.replace(settings, kind=kind)
    SCHEDULERS.load(chosen.kind)
    if chosen.kind != LOCAL:  # a repository could send this machine anywhere
        app.refuse_untrusted()
    return chosen


def scheduler(
    app: App,
    settings: SchedulerSection,
    engine: Engine,
    admits: Callable[[View, list[str]], list[str]],
    tell: Callable[[str], None],
) -> Scheduler:
    """Who says when runs are advanced."""
    kind: SchedulerKind = SCHEDULERS.load(settings.kind)
    return kind.open_scheduler(site_of(app, settings, engine.wakeup, admits, tell))


async def refuse_unusable(app: App, settings: SchedulerSection) -> None:
    """SchedulerError if it cannot say when runs are advanced: before anything is begun under it."""
    for each in await scheduler_problems(app, settings):
        if each.blocks:
            away = each.code == SchedulerUnreachable.code
            raise (SchedulerUnreachable if away else SchedulerError)(each.message, help=each.help)


async def scheduler_problems(app: App, settings: SchedulerSection) -> Sequence[SetupProblem]:
    """What is missing for a scheduler."""
    kind: SchedulerKind = SCHEDULERS.load(settings.kind)
    wakeup = app.feeds.wakeup()
    try:
        return await kind.problems(
            site_of(app, settings, wakeup, lambda view, due: due, lambda line: None)
        )
    finally:
        wakeup.close()


def site_of(
    app: App,
    settings: SchedulerSection,
    wakeup: Wakeup,
    admits: Callable[[View, list[str]], list[str]],
    tell: Callable[[str], None],
) -> SchedulerSite:
    """What a scheduler is given."""
    owner = owner_of(app)

    def cancel(run_id: str) -> bool:
        return app.change(control, owner, run_id, "cancel", CANCELLED)

    return SchedulerSite(
        store=app.store,
        project=_project_name(app),
        host=own_host(app),
        version=__version__,
        environ=app.environ,
        settings=settings,
        wakeup=wakeup,
        is_free=owner.is_free,
        admits=admits,
        home_of=_home_of,
        cancel=cancel,
        tell=tell,
    )


def _project_name(app: App) -> str:
    named = None if is_here(app.store) else read_store_url(app.store.url).project
    return named or project_name(os.path.basename(app.project.root))


def _home_of(view: View, run: Run) -> str | None:
    """The living host that has the work of a run."""
    task_id = run.input.get("taskId")
    place = view.work_places.find(task_id) if isinstance(task_id, str) else None
    if place is None:
        return None
    host, now = place.holder.partition(":")[0], view.time()
    lives = any(each.host == host and each.lives(now) for each in view.hosts.processes())
    return host if lives else None
