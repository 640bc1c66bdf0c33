"""The half of the composition root that reaches out: processes, network, calls of hooks."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import plugins
from hookline.adapters import git
from hookline.adapters.agents.drivers import LocalAgents
from hookline.adapters.blobs import FileBlobs
from hookline.adapters.feed import FileFeed
from hookline.adapters.forges.deferred import DeferredForge
from hookline.adapters.forges.local import LocalForge
from hookline.adapters.git import GitWork
from hookline.adapters.http import HttpClient
from hookline.adapters.identity import kill_group, kill_marked, owner_is_gone
from hookline.adapters.process import LocalProcesses
from hookline.adapters.repository import GitRepository
from hookline.adapters.store.sqlite import SqliteStore
from hookline.adapters.wakeup import AsyncWaker
from hookline.errors import ConfigError, HooklineError, UnknownWorkflow, Untrusted
from hookline.flows import journal, session_verbs
from hookline.flows.definitions import FlowFinder
from hookline.flows.effects import Executor, Limits
from hookline.flows.effects import Surroundings as EffectSurroundings
from hookline.flows.engine import Engine
from hookline.flows.gate_plan import gate_flows
from hookline.flows.gated import Gated
from hookline.flows.session_plan import session_flow
from hookline.flows.session_state import LEASE_MARGIN, PINS
from hookline.flows.steering import Steering
from hookline.hooks.call import Caller, Surroundings, base_environment
from hookline.hooks.delivery import Deliverer, Owner
from hookline.hooks.firing import Firing
from hookline.hooks.frames import DRY_RUN
from hookline.hooks.redact import redactor
from hookline.hooks.registry import HookContext
from hookline.ports.agents import ToolServer
from hookline.ports.processes import ProcessGroup
from hookline.trust import TrustedJudges, Watch, Worktrees, configured_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.app import App
    from hookline.config.types import Sections
    from hookline.domain.records import Delivery, Outcome
    from hookline.domain.sessions import Charge
    from hookline.flows.definitions import Flow
    from hookline.hooks.registry import Hook
    from hookline.ports.agents import Agents
    from hookline.ports.processes import Processes
    from hookline.ports.store import Transaction
    from hookline.ports.work import Forge

MAX_LOG_BYTES = 8 * 1024 * 1024


def deliverer(app: App, observe: Callable[[Delivery, Outcome], None]) -> Deliverer:
    """Everything that delivery needs, put together for one project."""
    log = call_log(app.project.hook_log)

    def record(row: Delivery, outcome: Outcome) -> None:
        log(row, outcome)
        observe(row, outcome)

    return Deliverer(
        app.store,
        app.settling,
        caller(app),
        owner_of(app),
        metadata=app.metadata(),
        record=record,
    )


def caller(app: App) -> Caller:
    """What calls hooks, with everything they need around them."""
    processes = LocalProcesses(app.project.blobs)

    async def changed(folder: str) -> list[str]:
        return await git.changed_files(processes, folder, app.environ)

    return Caller(
        Surroundings(
            root=app.project.root,
            folder=app.project.folder,
            environ=app.environ,
            processes=processes,
            http=HttpClient(),
            verify=_verifier(app),
            redact=redactor(_all_variables(app)),
            agents=_judges(app, processes),
            repository=repository(app),
            forge=forge(app),
            changed_files=changed,
            context=app.context,
            verify_in=trees.verify if (trees := _worktrees(app)) else lambda hook, folder: None,
        )
    )


def engine(
    app: App, observe: Callable[[str, dict[str, Any]], None] = lambda what, details: None
) -> Engine:
    """The local engine, with everything that effects and steering need."""
    processes = LocalProcesses(app.project.blobs)
    blobs = FileBlobs(app.project.blobs)
    calls = caller(app)
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
        firing=Firing(app.store, calls, change=change, suspended=app.suspended.get),
        agents=_agents(app, Gated(processes)),
        work=GitWork(processes, app.environ, os.path.join(app.project.folder, "objects")),
        change=change,
        verify=_watcher(app),
        repository=repository(app),
        forge=lambda: forge(app),
        tools=_tools,
        feed=FileFeed(app.project.folder).of,
        redact=redactor(_all_variables(app)),
        verify_line=trees.verify_line if (trees := _worktrees(app)) else lambda line, folder: None,
    )
    return Engine(
        app.store,
        blobs,
        owner_of(app),
        find_flow=flow_finder(app).find,
        executor=Executor(around, _limits(app)),
        steering=Steering(
            app.store,
            app.registry,
            calls,
            change=change,
            suspended=app.suspended.get,
            debug=_debugger(app),
            runs_folder=os.path.join(app.project.folder, "runs"),
            owner=owner_of(app),
        ),
        wakeup=AsyncWaker(app.project.folder),
        change=change,
        observe=observe,
    )


def flow_finder(app: App) -> FlowFinder:
    """Where the flows of a project are found."""
    configured = app.settings.flows if app.settings is not None else {}
    verify = _watcher(app)
    return FlowFinder(
        app.project.root,
        app.project.folder,
        configured,
        allowed=lambda: _allowed(app, verify),
        plugins=_plugins,
        own={"session": lambda: _session_flow(app), **gate_flows(_sections(app))},
    )


def repository(app: App) -> GitRepository:
    """The project's repository."""
    sections = _sections(app)
    wanted = sections.gates if sections is not None else None
    return GitRepository(
        LocalProcesses(app.project.blobs),
        app.project.root,
        app.project.folder,
        app.environ,
        base=wanted.base if wanted else None,
        remote=wanted.remote if wanted else None,
    )


def forge(app: App) -> Forge:
    """Where the project's pull requests are made."""
    sections = _sections(app)
    wanted = sections.gates if sections is not None else None
    remote = wanted.remote if wanted else None
    if wanted is None or wanted.forge == "local":
        return LocalForge(os.path.join(app.project.folder, "pulls"), push_remote=remote)
    name = remote or "origin"

    async def reach() -> Forge:
        from hookline.adapters.forges.github import github_forge  # brings an HTTP client

        url = await repository(app).remote_url(name)
        return github_forge(url, app.environ, api=wanted.api, push_remote=name)

    return DeferredForge("github", name, True, reach)


def _sections(app: App) -> Sections | None:
    return app.settings.sections if app.settings is not None else None


def _session_flow(app: App) -> Flow:
    return session_flow(_sections(app), app.standing, app.project.root)


def _tools(env: Mapping[str, str]) -> ToolServer:
    """Our own tools, as an agent of a session is offered them."""
    passed = {name: value for name, value in env.items() if name.startswith("HOOKLINE_")}
    return ToolServer((sys.executable, "-P", "-m", "hookline", "mcp", "--tools", "core"), passed)


def start_flow(app: App, tx: Transaction, name: str, context: dict[str, Any]) -> str:
    """A new run inside a transaction; whoever serves flows will advance it."""
    finder = flow_finder(app)
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
        pins = flow.pins
        return session_verbs.start(tx, charge_for(tx), code_digest="", pins=pins, lease=lease)

    run_id = app.change(start)
    with app.read() as view:
        given = view.runs.find(run_id).input
    FileFeed(app.project.folder).of(run_id)("session_started", {**given, "runId": run_id})
    return run_id


def _allowed(app: App, verify: Callable[[], None]) -> None:
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    if app.trust is not None and not app.trust.verdict.trusted:
        raise Untrusted
    verify()


def _plugins() -> dict[str, Any]:
    return {point.name: point for point in plugins.found(plugins.FLOWS)}


def _agents(app: App, processes: Processes) -> LocalAgents:
    profiles = app.settings.agents if app.settings is not None else {}
    default = app.settings.agent if app.settings is not None else None
    return LocalAgents(profiles, default, app.project.root, processes)


def _judges(app: App, processes: Processes) -> Agents:
    """Agents that hooks ask; each is the program that was trusted."""
    agents, trees = _agents(app, processes), _worktrees(app)
    if trees is None or app.settings is None:
        return agents
    return TrustedJudges(agents, app.settings.agents, app.settings.agent, trees)


def _all_variables(app: App) -> dict[str, str]:
    """The environment, with what the configuration adds to it for agents and hooks."""
    found = dict(app.environ)
    if app.settings is None:
        return found
    profiles = [(name, profile.env) for name, profile in app.settings.agents.items()]
    hooks = [(hook.name, hook.env) for hook in configured_hooks(app.settings)]
    for owner, env in (*profiles, *hooks):
        for name, value in env.items():
            known = found.setdefault(name, value)
            if known != value:  # the same name may have another value for each
                found[f"{owner}.{name}"] = value
    return found


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
        print(f"[hookline] {msgspec.json.encode(told).decode()}", file=sys.stderr, flush=True)

    return show


def owner_of(app: App) -> Owner:
    """This process as a holder of leases."""
    return Owner(
        app.owner, lambda owner, until: _is_free(app, owner, until), _end_child, _end_strays
    )


def live_context(app: App) -> HookContext:
    """A context over a connection of its own: what a hook reads is what is stored now."""
    store = SqliteStore(app.store.path, read_only=True)

    def start(workflow: str, context: dict[str, Any]) -> str:
        if app.environ.get("HOOKLINE_IDEMPOTENCY_KEY") == DRY_RUN:
            raise HooklineError(f"a dry run does not start '{workflow}'")
        return app.writable().change(lambda tx: start_flow(app, tx, workflow, context))

    view = store.live()
    return HookContext(view.graph, view.log, start)


def call_log(path: str) -> Callable[[Delivery, Outcome], None]:
    """Writes a line for each call to the log that a person can tail."""

    def write(row: Delivery, outcome: Outcome) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        parts = [
            stamp,
            f"event={row.event_seq}",
            f"point={row.point}",
            f"hook={row.hook}",
            f"status={outcome.status}",
            f"ms={outcome.duration_us / 1000:.1f}",
        ]
        if outcome.exit_code is not None:
            parts.append(f"exit={outcome.exit_code}")
        if outcome.error:
            parts.append(f"error={outcome.error.splitlines()[0][:300]!r}")
        with suppress(OSError):  # the record is in the store; no hook fails for want of a log
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.exists(path) and os.path.getsize(path) > MAX_LOG_BYTES:
                os.replace(path, f"{path}.1")
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(" ".join(parts) + "\n")

    return write


def _verifier(app: App) -> Callable[[Hook], None]:
    verify_all = _watcher(app)

    def verify(hook: Hook) -> None:
        if hook.layer == "project":
            verify_all()

    return verify


def _watcher(app: App) -> Callable[[], None]:
    """Raises Untrusted once something that the repository brings is not what was trusted."""
    # Who trusts a folder for ever wants to edit its hooks while they are in use.
    if app.trust is None or app.settings is None or app.trust.verdict.always:
        return lambda: None
    return Watch(app.project, app.trust.manifest, app.settings.hooks).verify


def _worktrees(app: App) -> Worktrees | None:
    """What compares worktrees with the project; None where everything is trusted."""
    if app.trust is None or app.trust.verdict.always:
        return None
    return Worktrees(app.project)


def _is_free(app: App, owner: str, until: float) -> bool:
    return owner == app.owner or until < time.time() or owner_is_gone(owner)


def _end_strays(key: str) -> None:
    kill_marked(f"HOOKLINE_IDEMPOTENCY_KEY={key}".encode())


def _end_child(child: str) -> None:
    kill_group(msgspec.json.decode(child, type=ProcessGroup))
