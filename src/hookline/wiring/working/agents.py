"""The agents of a project, for sessions and for hooks that ask one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.domain.text.known_secrets import is_secret_name
from hookline.hooks.calls.call import base_environment
from hookline.ports.agents import Agents, ToolServer
from hookline.programs import own_program
from hookline.sessions.spending import record_turn, refusal
from hookline.trust.configured import secret_variables
from hookline.trust.people import under_agent
from hookline.trust.worktrees import TrustedGatekeepers
from hookline.wiring.project.stores import is_kept
from hookline.wiring.project.trusting import worktrees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.domain.sessions.turns import Purpose, TurnCost, Unpaid
    from hookline.ports.processes import Processes

UNPAID_TRIAL = "only a person can try a hook that asks an agent: no budget covers such a turn"


def agents(app: App, processes: Processes) -> LocalAgents:
    """The agents of a project, started by these processes."""
    # A hook that is only tried belongs to no session, with or without a store.
    is_trial = app.store.read_only or not is_kept(app.store)

    def record(purpose: Purpose, cost: TurnCost) -> None:
        if not is_trial:
            app.change(record_turn, purpose, cost)

    def refuse(purpose: Purpose) -> str | Unpaid | None:
        if is_trial:
            return UNPAID_TRIAL if under_agent(app.environ) else None
        spent = app.spent()
        with app.read() as view:
            return refusal(view, purpose, app.origin.metadata(), spent)

    profiles, default = app.sections.agents, app.sections.agent
    return LocalAgents(profiles, default, app.project.root, processes, app.cleaner, record, refuse)


def inherited(app: App) -> dict[str, str]:
    """What agents and programs of runs inherit; nobody writes to people in Hookline's name."""
    hidden = secret_variables(app.settings) if app.settings is not None else ()
    inherited = base_environment(app.environ)
    return {name: value for name, value in inherited.items() if name not in hidden}


def own_tools(env: Mapping[str, str]) -> ToolServer:
    """Hookline's own tools, as offered to an agent of a session."""
    passed = {name: value for name, value in env.items() if name.startswith("HOOKLINE_")}
    secrets = {name: value for name, value in env.items() if is_secret_name(name.upper())}
    return ToolServer(own_program("hookline", "mcp"), passed, secrets)


def gatekeeper_agents(app: App, processes: Processes) -> Agents:
    """Agents that hooks ask; each is the program that was trusted."""
    found, trees = agents(app, processes), worktrees(app)
    if trees is None:
        return found
    return TrustedGatekeepers(found, app.sections.agents, app.sections.agent, trees)
