"""Whether an agent can work at all: is it there, is it new enough, is someone logged in?

No model is asked, and no file of a project is near.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from typing import TYPE_CHECKING, Literal

from hookline.adapters.agents.known_agents import by_command
from hookline.adapters.agents.logins import LOGINS, Login
from hookline.adapters.agents.problems import outdated, problem
from hookline.errors import BrokenPlugin
from hookline.plugins import DRIVERS
from hookline.ports.agents import AgentHealth, HealthCheck

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.adapters.agents.known_agents import Version
    from hookline.ports.agents import Profile
    from hookline.ports.processes import Finished, Processes

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


async def health_of(profile: Profile, env: Mapping[str, str], processes: Processes) -> AgentHealth:
    """Whether the agent of a profile can work; a driver that cannot tell says nothing."""
    try:
        ask = getattr(DRIVERS.load(profile.driver), "health", None)
    except BrokenPlugin:  # reported where it is used
        ask = None
    if ask is None:
        return AgentHealth()
    with tempfile.TemporaryDirectory(prefix="hookline-agents-") as folder:
        found: AgentHealth = await ask(profile, HealthCheck(folder, env, processes))
        return found


async def examined(command: str, check: HealthCheck) -> AgentHealth:
    """The health of the agent whose program a command starts.

    Any other program may be a script around it, and is not asked anything.
    """
    agent = by_command(command)
    program = shlex.split(command)[0] if agent.program else ""
    if not program or ("/" in program and not os.path.isabs(program)):
        return AgentHealth()
    done = await check.run((program, "--version"))
    if done is None or done.exit_code:
        why = (
            f"`{program} --version` exited {done.exit_code}" if done else f"no {program} was found"
        )
        wrong = problem(agent, "missing", why) if done is None or not done.timed_out else None
        return AgentHealth(installed=done is not None, problem=wrong)
    version = _version(done)
    if version is None:
        return AgentHealth(installed=True)
    told = ".".join(map(str, version))
    if version < agent.minimum:
        return AgentHealth(installed=True, version=told, problem=outdated(agent, told))
    ask = LOGINS.get(agent.program)
    login = await ask(program, check) if ask is not None else Login()
    wrong = problem(agent, "login", "") if login.is_in is False else None
    state: Literal["in", "out", "unknown"] = "unknown"
    if login.is_in is not None:
        state = "in" if login.is_in else "out"
    return AgentHealth(installed=True, version=told, login=state, by=login.by, problem=wrong)


def _version(done: Finished) -> Version | None:
    found = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
