"""Commands that only people may use: refused to agents, hooks and whatever those start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import PeopleOnly

if TYPE_CHECKING:
    from collections.abc import Mapping

# Agents and hooks; and what effects and sessions start, such as tests that an agent wrote.
AGENT_VARIABLES = ("HOOKLINE_AGENT", "HOOKLINE_HOOK", "HOOKLINE_EFFECT_ID", "HOOKLINE_SESSION")


def under_agent(environ: Mapping[str, str]) -> bool:
    """Whether this process was started by an agent or a hook."""
    return any(environ.get(name) for name in AGENT_VARIABLES)


def refuse_agents(environ: Mapping[str, str], command: str) -> None:
    """For the commands that only people may use."""
    if under_agent(environ):
        raise PeopleOnly(f"`hookline {command}` is for people; this runs under an agent or a hook")
