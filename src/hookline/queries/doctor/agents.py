"""The doctor's look at agents: those on PATH, and the configured profiles.

An agent is asked for its version and its login, in an empty folder: no model, no turn, no project.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from hookline import typed
from hookline.config import load_settings
from hookline.config.detection import AGENTS, find_agents
from hookline.config.types import Agent
from hookline.files import safe_environment
from hookline.hooks.calls.call import base_environment
from hookline.queries.doctor.checks import Diagnosis, ok, skipped, warning
from hookline.wiring.project.configured import trust_in
from hookline.wiring.working.inspection import agent_health
from hookline.wiring.working.profiles import install_command, is_there, program_of, script_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.config.settings import Settings
    from hookline.ports.agents import AgentHealth
    from hookline.project import Project

SHOWN = 120
# Problems with which a program does not even start.
NOT_STARTING = ("missing", "outdated")
LOGINS = {"in": "logged in", "out": "not logged in", "unknown": "login unknown"}


class AgentAnswer(msgspec.Struct, frozen=True):
    """An agent on PATH: its version, its login, and what keeps it from working.

    `is_startable` is whether its program starts: what is missing then can be repaired later.
    """

    name: str
    version: str = ""
    login: str = "unknown"
    problem: str | None = None
    help: str = ""
    is_startable: bool = msgspec.field(default=True, name="isStartable")


def agent_checks(environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Each agent on PATH: whether it can work, and the profile by which `run` can use it."""
    profiles = _suggested(environ)
    for name, health in asyncio.run(_asked(profiles, environ)).items():
        yield _diagnosis(f"agent {name}", health, f"`run` can use it as {AGENTS[name]}")
    if not profiles:
        yield skipped("agents", "none on PATH; any program can be one: {driver: command}")


def ask_agents(environ: Mapping[str, str], outside: str | None = None) -> list[AgentAnswer]:
    """Ask each agent on PATH, in an empty folder; none whose program is in the folder `outside`."""
    path, profiles = safe_environment(environ)["PATH"], _suggested(environ)
    places = {name: shutil.which(name, path=path) or name for name in profiles}
    ours = {name for name, path in places.items() if outside and _is_inside(path, outside)}
    asked = {name: each for name, each in profiles.items() if name not in ours}
    found = asyncio.run(_asked(asked, environ)) if asked else {}
    return [_own(name) if name in ours else _answer(name, found[name]) for name in profiles]


def _own(name: str) -> AgentAnswer:
    problem = "it is in this repository, and was not started"
    return AgentAnswer(name, problem=problem, is_startable=False)


def _answer(name: str, health: AgentHealth) -> AgentAnswer:
    version, problem = (health.version or "")[:SHOWN], health.problem
    if problem is None:
        return AgentAnswer(name, version, health.login)
    startable = problem.kind not in NOT_STARTING
    return AgentAnswer(name, version, health.login, problem.message, problem.help, startable)


def _is_inside(program: str, folder: str) -> bool:
    top = os.path.realpath(folder).rstrip("/")
    return any(f"{path}/".startswith(f"{top}/") for path in (program, os.path.realpath(program)))


def _suggested(environ: Mapping[str, str]) -> dict[str, Agent]:
    """The agents on PATH, with the profiles that `init` writes for them."""
    names = find_agents(safe_environment(environ))
    return {name: suggested(name) for name in names}


def suggested(name: str) -> Agent:
    """The profile that `init` writes for an agent."""
    return typed.convert(yaml.safe_load(AGENTS[name]), Agent)


async def _asked(profiles: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, AgentHealth]:
    env = base_environment(safe_environment(environ))
    asking = (agent_health(each, {**env, **each.env}) for each in profiles.values())
    return dict(zip(profiles, await asyncio.gather(*asking), strict=True))


def _diagnosis(name: str, health: AgentHealth, message: str) -> Diagnosis:
    if health.problem is not None:
        return warning(name, health.problem.message, health.problem.help)
    by = f" ({health.by})" if health.by else ""
    told = [health.version, f"{LOGINS[health.login]}{by}" if health.version else None, message]
    return ok(name, "; ".join(each for each in told if each))


def profile_checks(project: Project, home: str, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Each configured agent: whether `run` will find its program, and whether that can work."""
    settings = load_settings(project, home)
    if settings.has_errors:  # reported already, and agents may be what is wrong
        return
    profiles = settings.sections.agents
    is_trusted = trust_in(project, home, settings, environ).verdict.trusted
    # A profile of a repository could name any program, and give it any environment.
    asked = asyncio.run(_asked(profiles, environ)) if is_trusted else {}
    for name, profile in profiles.items():
        program = program_of(profile)
        shown = f"driver {profile.driver}, permissions {profile.permissions}"
        if profile.driver == "scripted":
            yield _scripted(name, profile.script or "", shown, project.root)
        elif program is None:
            yield ok(f"profile {name}", f"{shown}; shell line: {profile.command}")
        elif not is_there(program, project.root, {**environ, **profile.env}):
            yield _missing(name, profile, program)
        elif name in asked:
            yield _diagnosis(f"profile {name}", asked[name], f"{shown}; starts {program}")
        else:
            yield ok(f"profile {name}", f"{shown}; starts {program}")


def _missing(name: str, profile: Agent, program: str) -> Diagnosis:
    message = f"{program} was not found: `hookline run --agent {name}` is refused"
    install = install_command(profile)
    how = f"install it with `{install}`" if install else f"install {program}"
    return warning(
        f"profile {name}", message, f"{how}, or correct `command:` of that agent in hookline.yaml"
    )


def missing_agents(settings: Settings, root: str) -> Iterator[tuple[str, str]]:
    """The agents' keys that name an unusable file of the project, and why."""
    for name, profile in settings.sections.agents.items():
        program = program_of(profile) or ""
        if profile.driver == "scripted" and profile.script:
            if problem := script_problem(root, profile.script):
                yield f"{name}.script", problem
        elif "/" in program and not is_there(program, root, {}):
            yield f"{name}.command", f"{program} does not exist, or is not executable"


def _scripted(name: str, script: str, shown: str, root: str) -> Diagnosis:
    if problem := script_problem(root, script):
        refused = f"{problem}: `hookline run --agent {name}` is refused"
        return warning(f"profile {name}", refused, f"fix {script}")
    return ok(f"profile {name}", f"{shown}: {script}")
