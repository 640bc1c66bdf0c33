"""Sessions that are started and resumed in the background, for those who have no terminal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.errors import ConfigError
from hookline.operations.sessions.control import check_message, send_message
from hookline.operations.sessions.resume import to_go_on_with
from hookline.operations.sessions.start import NewSession, check_limits, prepare_worktree, start
from hookline.operations.sessions.supervision import detach_session
from hookline.queries.sessions import facts
from hookline.sessions.names import check_name
from hookline.wiring.working.profiles import chosen_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.queries.sessions import SessionFacts


def refuse_unready(app: App) -> None:
    """Refuse a configuration with errors, and hooks that are not trusted."""
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    app.refuse_untrusted()


def start_in_background(
    app: App,
    *,
    goal: str | None,
    task: str | None,
    agent: str | None,
    name: str | None,
    limits: Mapping[str, float],
    plan: bool = False,
) -> SessionFacts:
    """Start a session that a process in the background advances, like `run --detach`."""
    refuse_unready(app)
    allowed = check_limits(limits)
    if name is not None:
        check_name(name)
    chosen = chosen_agent(app, agent, allowed.get("usd"))
    wanted = NewSession(agent=chosen, goal=goal, task=task, name=name, limits=allowed, plan=plan)
    place = asyncio.run(prepare_worktree(app, task, chosen))
    return _detached(app, start(app, wanted, place, detached=True), None)


def resume_in_background(
    app: App, name: str, limits: Mapping[str, float], message: str | None
) -> SessionFacts:
    """Resume a session in the background; its agent gets the message first."""
    refuse_unready(app)
    allowed = check_limits(limits)
    text = check_message(message) if message is not None else None
    known = to_go_on_with(app, name, allowed)
    chosen_agent(app, known.agent, allowed.get("usd"))
    if text is not None:
        send_message(app, known.run_id, text)
    return _detached(app, known.run_id, allowed)


def _detached(app: App, run_id: str, limits: Mapping[str, float] | None) -> SessionFacts:
    detach_session(app, run_id, limits)
    with app.read() as view:
        return facts(view, view.runs.find(run_id))
