"""The doctor's look at agents: those on PATH with their versions, and the configured profiles.

An agent is only asked for its version, in an empty folder: no model, no key, no project.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from hookline.adapters.agents.scripted import read_script
from hookline.adapters.process import LocalProcesses
from hookline.config import load_settings
from hookline.errors import BadInput
from hookline.hooks.calls.call import base_environment
from hookline.ports.processes import CannotStart
from hookline.surfaces.cli.doctor_checks import ok, skipped, warning
from hookline.surfaces.cli.doctor_hooks import first_program
from hookline.surfaces.cli.init_detect import AGENTS, find_agents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.config.settings import Settings
    from hookline.ports.processes import Finished
    from hookline.project import Project
    from hookline.surfaces.cli.doctor_checks import Check

# Agents written for Node take seconds to start for the first time.
VERSION_SECONDS = 15.0
SHOWN = 60
# What a profile without `command:` starts.
PROGRAMS = {"claude-code": "claude", "codex": "codex"}
# Words that only a shell understands: no program of that name has to be there.
SHELL_WORDS = frozenset(
    ". : alias break case cd continue eval exit export fg for getopts hash local read readonly"
    " return set shift source times trap type ulimit umask unalias unset wait".split()
)
SHELL_MARKS = frozenset("$`*?[]{}()~<>|&;!#\"'")
_NAMESPACE = ("unshare", "--user", "--map-root-user", "true")


def agent_checks(environ: Mapping[str, str]) -> Iterator[Check]:
    """Each agent on PATH: its version, and the profile by which `run` can use it."""
    safe = {**environ, "PATH": _absolute(environ.get("PATH", ""))}
    names = find_agents(safe)
    if not names:
        yield skipped("agents", "none on PATH; any program can be one: {driver: command}")
        return
    yield from asyncio.run(_asked(names, safe))


def _absolute(path: str) -> str:
    """PATH without relative folders: nothing that a repository brings is started here."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if os.path.isabs(part))


async def _asked(names: list[str], environ: Mapping[str, str]) -> list[Check]:
    with tempfile.TemporaryDirectory(prefix="hookline-agents-") as folder:
        asking = [_check(name, folder, base_environment(environ)) for name in names]
        return list(await asyncio.gather(*asking))


async def _check(name: str, folder: str, env: Mapping[str, str]) -> Check:
    program = shutil.which(name, path=env["PATH"]) or name
    done = await _run((program, "--version"), folder, env)
    if done is None or done.timed_out or done.exit_code:
        return warning(
            f"agent {name}",
            f"{program} does not tell its version: {_problem(done)}",
            f"see what `{name} --version` says; `hookline run` needs it to work",
        )
    told = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["no version"]
    message = f"{told[0].strip()[:SHOWN]}; `run` can use it as {AGENTS[name]}"
    if name == "codex" and not await _has_namespaces(folder, env):
        return warning(
            f"agent {name}",
            f"{message}, but its sandbox cannot work here: none of its commands would run",
            "where this machine is a sandbox itself, give its profile `permissions: full`",
        )
    return ok(f"agent {name}", message)


async def _run(argv: tuple[str, ...], folder: str, env: Mapping[str, str]) -> Finished | None:
    """A program that is over; None if it cannot be started."""
    try:
        return await LocalProcesses(folder).run(argv, cwd=folder, env=env, timeout=VERSION_SECONDS)
    except CannotStart:
        return None


def _problem(done: Finished | None) -> str:
    if done is None:
        return "it cannot be started"
    return f"no answer in {VERSION_SECONDS:g} s" if done.timed_out else f"exit {done.exit_code}"


async def _has_namespaces(folder: str, env: Mapping[str, str]) -> bool:
    """Whether processes can have namespaces of their own, which Codex's sandbox is made of."""
    done = await _run(_NAMESPACE, folder, env)
    return done is None or done.exit_code == 0  # without the tool nobody knows


def profile_checks(project: Project, home: str, environ: Mapping[str, str]) -> Iterator[Check]:
    """Each configured agent: its program is there, as `run` will look for it."""
    settings = load_settings(project, home)
    if settings.has_errors:  # said already, and agents may be what is wrong
        return
    for name, profile in settings.agents.items():
        program = program_of(profile)
        shown = f"driver {profile.driver}, permissions {profile.permissions}"
        if profile.driver == "scripted":
            yield _scripted(name, profile.script or "", shown, project.root)
        elif program is None:
            yield ok(f"profile {name}", f"{shown}; a line for the shell: {profile.command}")
        elif is_there(program, project.root, {**environ, **profile.env}):
            yield ok(f"profile {name}", f"{shown}; starts {program}")
        else:
            yield warning(
                f"profile {name}",
                f"{program} is not there: `hookline run --agent {name}` is refused",
                f"install {program}, or correct `command:` of that agent in hookline.yaml",
            )


def missing_agents(settings: Settings, root: str) -> Iterator[tuple[str, str]]:
    """The keys of agents that name a file of the project which cannot be used, and why."""
    for name, profile in settings.sections.agents.items():
        program = program_of(profile) or ""
        if profile.driver == "scripted" and profile.script:
            try:
                read_script(root, profile.script)
            except BadInput as problem:
                yield f"{name}.script", problem.message
        elif "/" in program and not is_there(program, root, {}):
            yield f"{name}.command", f"{program} is not there, or not executable"


def _scripted(name: str, script: str, shown: str, root: str) -> Check:
    try:
        read_script(root, script)
    except BadInput as problem:
        refused = f"{problem.message}: `hookline run --agent {name}` is refused"
        return warning(f"profile {name}", refused, f"fix {script}")
    return ok(f"profile {name}", f"{shown}: {script}")


def program_of(profile: Any) -> str | None:
    """The program that a profile starts; None where only a shell could tell."""
    if profile.driver == "scripted":
        return None
    if profile.driver == "command":
        word = first_program(profile.command or "")
        is_for_shell = word is None or word in SHELL_WORDS or not SHELL_MARKS.isdisjoint(word)
        return None if is_for_shell else word
    try:
        words = shlex.split(profile.command or PROGRAMS.get(profile.driver, ""))
    except ValueError:
        return None
    return words[0] if words else None


def is_there(program: str, root: str, environ: Mapping[str, str]) -> bool:
    """Whether a program can be started from the project's root."""
    if "/" in program:
        path = os.path.join(root, program)
        return os.path.isfile(path) and os.access(path, os.X_OK)
    return shutil.which(program, path=environ.get("PATH") or os.defpath) is not None
