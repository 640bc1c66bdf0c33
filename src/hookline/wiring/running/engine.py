"""The half of the composition root that runs flows: the engine, sessions, submissions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.events import SESSION_EVENTS, Event
from hookline.flows.attempt import Surroundings as EffectSurroundings
from hookline.flows.effects import EffectLimits, Executor, Gated
from hookline.flows.engine import Engine, Observe
from hookline.flows.steering import Steering
from hookline.pipeline.effect_kinds import effect_kinds
from hookline.pipeline.own_flows import OWN_FLOWS
from hookline.project import user_folder
from hookline.trust.merging import configuration_errors
from hookline.wiring.calling.calls import owner_of, recorder
from hookline.wiring.project.trusting import frozen, is_current, merge_trust, verifier, worktrees
from hookline.wiring.running.debugging import debugger
from hookline.wiring.running.flows import call_flow, flow_finder, voucher
from hookline.wiring.running.presence import reaper_of
from hookline.wiring.working.agents import agents, inherited, own_tools
from hookline.wiring.working.forges import forge
from hookline.wiring.working.repositories import git_work, repository
from hookline.wiring.working.takeover import takeover

if TYPE_CHECKING:
    from hookline.app import App


def engine(app: App, observe: Observe = lambda what, details: None) -> Engine:
    """The local engine, with everything that effects and steering need."""
    processes = LocalProcesses(app.project.blobs, app.cleaner, reaper=reaper_of(app))
    calls = recorder(app)
    change = app.change
    around = EffectSurroundings(
        root=app.project.root,
        folder=app.project.folder,
        store=app.store,
        store_id=app.store.id,
        blobs=app.blobs,
        environ=inherited(app),
        processes=processes,
        scopes=app.scopes,
        recorder=calls,
        agents=agents(app, Gated(processes)),
        work=git_work(app),
        change=change,
        verify=verifier(app),
        repository=repository(app),
        forge=lambda: forge(app),
        tools=own_tools,
        feed=app.feeds.of,
        clean=app.cleaner.value,
        call_flow=partial(call_flow, app),
        is_current=lambda: is_current(app),
        frozen=lambda: [each.name for each in frozen(app)],
        clone=takeover(app),
        merge_trust=lambda: merge_trust(app),
        configuration_errors=lambda folder: configuration_errors(folder, user_folder(app.environ)),
        verify_line=trees.verify_line if (trees := worktrees(app)) else lambda line, folder: None,
    )
    waker = app.feeds.wakeup()
    app.at_close.append(waker.close)
    return Engine(
        app.store,
        app.blobs,
        owner_of(app),
        find_flow=flow_finder(app).find_of,
        executor=Executor(around, _limits(app), effect_kinds(around)),
        own=OWN_FLOWS,
        tell=lambda event: _tell(around, event),
        steering=Steering(
            app.registry, calls, OWN_FLOWS, debugger(app.environ), app.project.runs, owner_of(app)
        ),
        wakeup=waker,
        change=change,
        observe=observe,
        clean=app.cleaner.value,
        vouch=voucher(app),
    )


def _tell(around: EffectSurroundings, event: Event) -> None:
    """Tell watchers of a session about a stored event."""
    if event.type in SESSION_EVENTS:
        around.feed(event.node_id)(event.type, {**event.data, "seq": event.seq})


def _limits(app: App) -> EffectLimits:
    limits = app.sections.limits
    return EffectLimits(limits.concurrency, limits.per_minute)
