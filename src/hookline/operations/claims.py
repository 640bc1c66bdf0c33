"""Taking tasks: who claims one, and which types of tasks that agent may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.tasks import claims
from hookline.tasks.claims import DEFAULT_LEASE
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.tasks.claims import Allowed


class Claimer(NamedTuple):
    """Who claims tasks, and whether it may take those of a type."""

    agent: str
    allowed: Allowed


def claimer(app: App, named: str | None = None, *, by_agent: bool = False) -> Claimer:
    """Whoever is named, or who calls.

    Types of tasks name the agents that may take them; people may take any. `by_agent`: an agent
    calls, even if it has no name.
    """
    own = str(app.origin.metadata()["triggeredBy"])
    if named not in (None, own):
        # Whose work it is decides which gates check it, and who may be its gatekeeper.
        refuse_agents(app.environ, "task claim --agent of someone else")
    if not (by_agent or named or app.origin.holder.agent):
        return Claimer(own, claims.open_to_all)
    from hookline.config.task_types import claim_rule  # only agents need it

    return Claimer(named or own, claim_rule(app.settings))


def best_ready(app: App, who: Claimer) -> Task:
    """The best ready task that someone may take."""
    with app.read() as view:
        return claims.best_ready(view.graph, app.store.now(), who.agent, who.allowed)


def claim_next(app: App, who: Claimer, lease: float = DEFAULT_LEASE) -> Task:
    """Claim the best ready task."""
    return app.change(claims.claim_next, who.agent, lease, allowed=who.allowed)


def claim(app: App, identifier: str, who: Claimer, lease: float) -> Task:
    """Claim a task."""
    app.change(claims.claim, identifier, who.agent, lease, allowed=who.allowed)
    with app.read() as view:
        return view.graph.task(identifier)


def renew(app: App, identifier: str, token: int, lease: float) -> Task:
    """Renew a claim."""
    app.change(claims.renew, identifier, token, lease)
    with app.read() as view:
        return view.graph.task(identifier)
