"""Limits on money that cannot hold: an agent that does not say what it costs spends without end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.config.reading.problems import Mark, Problem, Problems
from hookline.domain.sessions.turns import Prices
from hookline.errors import BrokenPlugin
from hookline.plugins import DRIVERS
from hookline.project import CONFIG_NAME

if TYPE_CHECKING:
    from hookline.config.settings import Settings


FREE = Prices(input=0, output=0)


class Unpriced(NamedTuple):
    """Why a limit on money does not hold for an agent, and what to write."""

    message: str
    help: str


def unpriced(name: str, profile: Any) -> Unpriced | None:
    """Why a limit on money does not hold for an agent; None if it does, or nobody knows."""
    try:
        ask = getattr(DRIVERS.load(profile.driver), "reports", None)
    except BrokenPlugin:  # reported as such
        return None
    reports = ask(profile) if ask is not None else None
    if reports == "nothing" and profile.prices != FREE:
        message = f"agent '{name}' reports neither money nor tokens"
        free = f"if it costs nothing, set `agents.{name}.prices: {{input: 0, output: 0}}`"
        return Unpriced(message, f"limit its iterations or minutes instead; {free}")
    if reports == "tokens" and profile.prices is None:
        message = f"agent '{name}' reports tokens, but not what they cost"
        wanted = f"`agents.{name}.prices: {{input: USD, output: USD}}`, per million tokens"
        return Unpriced(
            message, f"add this to hookline.yaml: {wanted}; or limit its tokens instead"
        )
    return None


def unpriced_budgets(settings: Settings) -> list[Problem]:
    """A warning for each agent at work for which the limit on money of sessions does not hold."""
    report = Problems()
    if settings.has_errors or settings.sections.session.budget.usd is None:
        return []
    for name in _at_work(settings):
        if (found := unpriced(name, settings.sections.agents[name])) is not None:
            report.warning(
                "unpriced",
                Mark(CONFIG_NAME),
                f"`budget.usd` cannot be enforced: {found.message}",
                help=found.help,
                consequence="its sessions are refused, and its turns for hooks count as free",
            )
    return report.problems


def _at_work(settings: Settings) -> list[str]:
    """The agents that get work by themselves; others are refused when a person names them."""
    sections = settings.sections
    if sections.agent is None:
        return list(sections.agents)
    roles = [each.agents for each in sections.task_types.values()]
    listed = [name for each in roles for name in (*each.implementer, *each.gatekeeper)]
    return list(dict.fromkeys((sections.agent, *listed)))
