"""The half of the composition root that runs flows: the engine, sessions, submissions."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from hookline import plugins
from hookline.adapters.blobs import FileBlobs
from hookline.adapters.feed import FileFeed
from hookline.adapters.process import LocalProcesses
from hookline.adapters.reaper import Reaper
from hookline.adapters.wakeup import AsyncWaker
from hookline.domain.display import json_line
from hookline.errors import ConfigError, UnknownWorkflow, Untrusted
from hookline.flows import journal, session_verbs
from hookline.flows.definitions import FlowFinder
from hookline.flows.effects import Executor, Limits
from hookline.flows.effects import Surroundings as EffectSurroundings
from hookline.flows.engine import LEASE, Engine
from hookline.flows.gate_plan import gate_flows
from hookline.flows.gated import Gated
from hookline.flows.session_plan import session_flow
from hookline.flows.session_state import LEASE_MARGIN, PINS
from hookline.flows.steering import Steering
from hookline.hooks.calls.call import base_environment
from hookline.ports.agents import ToolServer
from hookline.project import user_folder
from hookline.trust import TypedFlows, configuration_errors, under_agent
from hookline.wiring.calls import (
    agents,
    forge,
    git_work,
    is_current,
    merge_trust,
    owner_of,
    recorder,
    repository,
    sections_of,
    verifier,
    watcher,
    worktrees,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.app import App
    from hookline.domain.records import Outcome
    from hookline.domain.runs import Run
    from hookline.domain.sessions import Charge
    from hookline.flows.definitions import Flow
    from hookline.ports.store import Transaction


def engine(
    app: App, observe: Callable[[str, dict[str, Any]], None] = lambda what, details: None
) -> Engine:
    """The local engine, with everything that effects and steering need."""
    processes = LocalProcesses(app.project.blobs, app.cleaner, reaper=_reaper(app))
    blobs = FileBlobs(app.project.blobs)
    calls = recorder(app)
    change = app.change
    around = EffectSurroundings(
        root=app.project.root,
        folder=app.project.folder,
        store=app.store,
        store_id=app.store.id,
        blobs=blobs,
        environ=base_environment(app.environ),
        processes=processes,
        standing=app.standing,
        recorder=calls,
        agents=agents(app, Gated(processes)),
        work=git_work(app),
        change=change,
        verify=verifier(app),
        repository=repository(app),
        forge=lambda: forge(app),
        tools=_tools,
        feed=FileFeed(app.project.folder).of,
        clean=app.cleaner.value,
        is_current=lambda: is_current(app),
        merge_trust=lambda: merge_trust(app),
        configuration_errors=lambda folder: configuration_errors(folder, user_folder(app.environ)),
        verify_line=trees.verify_line if (trees := worktrees(app)) else lambda line, folder: None,
    )
    waker = AsyncWaker(app.project.folder)
    app.at_close.append(waker.close)
    return Engine(
        app.store,
        blobs,
        owner_of(app),
        find_flow=flow_finder(app).find_of,
        executor=Executor(around, _limits(app)),
        steering=Steering(
            app.registry,
            calls,
            debug=_debugger(app),
            runs_folder=app.project.runs,
            owner=owner_of(app),
        ),
        wakeup=waker,
        change=change,
        observe=observe,
        clean=app.cleaner.value,
    )


def _reaper(app: App) -> Reaper:
    if app.reaper is None:
        app.reaper = Reaper()
        app.at_close.append(app.reaper.close)
    return app.reaper


def flow_finder(app: App) -> FlowFinder:
    """Where the flows of a project are found."""
    configured = app.settings.flows if app.settings is not None else {}
    verify = watcher(app)
    return FlowFinder(
        app.project.root,
        app.project.folder,
        configured,
        allowed=lambda: _allowed(app, verify),
        plugins=_plugins,
        admit=lambda run_id, name: _refuse_unnamed(app, run_id, name),
        own={
            "session": lambda: _session_flow(app),
            **gate_flows(sections_of(app), app.project.root),
        },
    )


def find_typed(app: App, name: str) -> Flow:
    """The flow that somebody typed; what an agent types counts no more than what a store says."""
    finder = flow_finder(app)
    if finder.is_module(name) and under_agent(app.environ):
        _refuse_unnamed(app, "", name)
    return finder.find(name)


def remember_typed(app: App, run_id: str, name: str) -> None:
    """A person started this run: its flow may be imported, if it is one of a module."""
    if flow_finder(app).is_module(name) and not under_agent(app.environ):
        _typed_flows(app).remember(run_id, name)


def renew_typed(app: App, run: Run) -> None:
    """A person goes on with a run that they started, with its module as it is now."""
    if _typed_flows(app).word(run.run_id, run.flow) == "changed":
        remember_typed(app, run.run_id, run.flow)


def _typed_flows(app: App) -> TypedFlows:
    return TypedFlows(user_folder(app.environ), app.project, app.store.id)


def _refuse_unnamed(app: App, run_id: str, name: str) -> None:
    typed, trust = _typed_flows(app), app.trust
    if trust is not None and trust.verdict.trusted:
        covered = [entry.path for entry in trust.manifest.entries]
        if typed.is_covered(name, None if trust.verdict.always else covered):
            return
    word = typed.word(run_id, name)
    if word == "changed":
        raise Untrusted(
            f"the module of '{name}' changed since you started {run_id}",
            help=f"look at it, then run `hookline flow resume {run_id}`",
        )
    if word == "none":
        raise Untrusted(
            f"'{name}' is not imported: neither trusted files nor a person named it",
            help=f"look at the module, then start it yourself: `hookline flow start {name}`",
        )


def _session_flow(app: App) -> Flow:
    return session_flow(sections_of(app), app.standing, app.project.root)


def _tools(env: Mapping[str, str]) -> ToolServer:
    """Our own tools, as an agent of a session is offered them."""
    passed = {name: value for name, value in env.items() if name.startswith("HOOKLINE_")}
    return ToolServer((sys.executable, "-P", "-m", "hookline", "mcp"), passed)


def start_flow(app: App, tx: Transaction, name: str, context: dict[str, Any]) -> str:
    """A new run inside a transaction; whoever serves flows will advance it."""
    finder = flow_finder(app)
    if finder.is_module(name):
        _refuse_unnamed(app, "", name)
    known = finder.known(name)
    if known is None:
        raise UnknownWorkflow(
            f"there is no workflow '{name}'", help="`hookline flow list` shows them all"
        )
    return journal.start(tx, name, context, {}, code_digest=known.digest, pins=known.pins)


def start_session(app: App, charge_for: Callable[[Transaction], Charge]) -> str:
    """A new session; whoever advances its run lets the agent work."""
    flow = _session_flow(app)
    lease = flow.pins[PINS].get("turnTimeout", 3600.0) + LEASE_MARGIN

    def start(tx: Transaction) -> str:
        run_id = session_verbs.start(
            tx, charge_for(tx), code_digest=flow.digest, pins=flow.pins, lease=lease
        )
        # It is this process's from the first moment on: if that dies, others see it.
        tx.runs.take(run_id, app.owner, tx.next_token(), time.time() + LEASE)
        return run_id

    run_id = app.change(start)
    with app.read() as view:
        given = view.runs.find(run_id).input
    FileFeed(app.project.folder).of(run_id)("session_started", {**given, "runId": run_id})
    return run_id


def _allowed(app: App, verify: Callable[[], None]) -> None:
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    app.refuse_untrusted()
    verify()


def _plugins() -> dict[str, Any]:
    return {point.name: point for point in plugins.found(plugins.FLOWS)}


def _limits(app: App) -> Limits:
    if app.settings is None:
        return Limits({}, {})
    limits = app.settings.sections.limits
    return Limits(limits.concurrency, limits.per_minute)


def _debugger(app: App) -> Callable[[str, dict[str, Any], Outcome], None]:
    if not app.environ.get("HOOKLINE_DEBUG"):
        return lambda hook, payload, outcome: None

    def show(hook: str, payload: dict[str, Any], outcome: Outcome) -> None:
        told = {
            "hook": hook,
            "input": payload,
            "status": outcome.status,
            "output": outcome.answer,
            "error": outcome.error,
            "stderr": outcome.stderr,
        }
        print(f"[hookline] {json_line(told)}", file=sys.stderr, flush=True)

    return show
