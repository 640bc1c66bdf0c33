"""The agent of a session: which one, and whether its program exists, before anything starts."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from hookline.adapters.agents.drivers.scripted import read_script
from hookline.adapters.agents.known_agents import by_command
from hookline.config.checks.budgets import unpriced
from hookline.domain.text.display import untrusted
from hookline.errors import BadInput, BrokenPlugin
from hookline.plugins import DRIVERS
from hookline.trust.shell_paths import shell_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.app import App

# Shell built-ins: no program of that name has to exist.
SHELL_WORDS = frozenset(
    ". : alias break case cd continue eval exit export fg for getopts hash local read readonly"
    " return set shift source times trap type ulimit umask unalias unset wait".split()
)
SHELL_MARKS = frozenset("$`*?[]{}()~<>|&;!#\"'")
# Words that the shell itself understands; what follows some of them is the real program.
_PREFIXES = frozenset({"exec", "command", "!", "{", "if", "while", "until", "time", "nohup", "env"})


def chosen_agent(app: App, name: str | None, usd: float | None = None) -> str:
    """The named profile, else the configuration's default, else its first; ready to be started.

    `usd` is what it may spend; without, that is what the configuration says.
    """
    profiles = app.sections.agents
    wanted = name or app.sections.agent or next(iter(profiles), None)
    if wanted is None:
        raise BadInput(
            "no agent is configured",
            help="`hookline init` finds those on PATH; or list one under `agents:` in"
            " hookline.yaml, such as {driver: claude-code}",
        )
    if wanted not in profiles:
        raise BadInput(
            f"there is no agent '{untrusted(wanted, 80)}'", help=_suggestion(wanted, profiles)
        )
    _refuse_missing(app, wanted, profiles[wanted])
    _refuse_unpriced(app, wanted, profiles[wanted], usd)
    return wanted


def _suggestion(wanted: str, profiles: Iterable[str]) -> str:
    from difflib import get_close_matches  # only a wrong name needs it

    near = get_close_matches(wanted, list(profiles), n=1)
    if near:
        return f"did you mean '{untrusted(near[0], 80)}'?"
    known = ", ".join(untrusted(each, 80) for each in profiles)
    return f"there is {known}" if known else "agents are listed under `agents:` in hookline.yaml"


def _refuse_missing(app: App, name: str, profile: Any) -> None:
    DRIVERS.load(profile.driver)  # a broken one is reported before anything starts
    if profile.driver == "scripted":
        read_script(app.project.root, profile.script)
    program = program_of(profile)
    if program is None or is_there(program, app.project.root, {**app.environ, **profile.env}):
        return
    install = install_command(profile)
    how = f"install it with `{install}`" if install else "install it"
    raise BadInput(
        f"agent '{untrusted(name, 80)}' needs the program {untrusted(program, 200)},"
        " which was not found",
        help=f"{how}, or correct `command:` of that agent in hookline.yaml;"
        " `hookline doctor` shows PATH",
    )


def _refuse_unpriced(app: App, name: str, profile: Any, usd: float | None) -> None:
    limit = usd or app.sections.session.budget.usd
    found = unpriced(untrusted(name, 80), profile) if limit is not None else None
    if found is not None:
        raise BadInput(
            f"a limit of ${limit:.2f} cannot be enforced: {found.message}", help=found.help
        )


def install_command(profile: Any) -> str:
    """The command that installs the agent of a profile; empty if it is not known."""
    usual = getattr(DRIVERS.load(profile.driver), "PROGRAM", "")
    return by_command(profile.command or usual).install


def script_problem(root: str, script: str) -> str | None:
    """Why a scripted agent's script cannot be used; None if it can."""
    try:
        read_script(root, script)
    except BadInput as problem:
        return problem.message
    return None


def program_of(profile: Any) -> str | None:
    """The program that a profile starts; None if only a shell could find out."""
    if profile.driver == "scripted":
        return None
    if profile.driver == "command":
        word = first_program(profile.command or "")
        is_for_shell = word is None or word in SHELL_WORDS or not SHELL_MARKS.isdisjoint(word)
        return None if is_for_shell else word
    try:
        usual = getattr(DRIVERS.load(profile.driver), "PROGRAM", "")
        words = shlex.split(profile.command or usual)
    except (ValueError, BrokenPlugin):
        return None
    return words[0] if words else None


def is_there(program: str, root: str, environ: Mapping[str, str]) -> bool:
    """Whether a program can be started from the project's root."""
    if "/" in program:
        path = os.path.join(root, program)
        return os.path.isfile(path) and os.access(path, os.X_OK)
    return shutil.which(program, path=environ.get("PATH") or os.defpath) is not None


def first_program(line: str) -> str | None:
    """The first word of a shell line that names a program, past assignments and prefixes."""
    for word in shell_words(line):
        name, equals, _ = word.partition("=")
        if (equals and name.isidentifier()) or word in _PREFIXES or word.startswith("-"):
            continue
        return word
    return None
