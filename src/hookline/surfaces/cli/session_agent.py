"""The agent of a session: which one, and whether its program is there, before anything begins."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from hookline.errors import BadInput
from hookline.surfaces.cli.doctor_hooks import first_program
from hookline.surfaces.cli.output import untrusted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.app import App

# What a profile without `command:` starts.
PROGRAMS = {"claude-code": "claude", "codex": "codex"}
# Words that only a shell understands: no program of that name has to be there.
SHELL_WORDS = frozenset(
    ". : alias break case cd continue eval exit export fg for getopts hash local read readonly"
    " return set shift source times trap type ulimit umask unalias unset wait".split()
)
SHELL_MARKS = frozenset("$`*?[]{}()~<>|&;!#\"'")


def chosen_agent(app: App, name: str | None) -> str:
    """The profile that is named, else the configuration's, else its first; ready to be started."""
    settings = app.settings
    profiles = settings.agents if settings is not None else {}
    default = settings.agent if settings is not None else None
    wanted = name or default or next(iter(profiles), None)
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
    return wanted


def _suggestion(wanted: str, profiles: Iterable[str]) -> str:
    from difflib import get_close_matches  # only a wrong name needs it

    near = get_close_matches(wanted, list(profiles), n=1)
    if near:
        return f"did you mean '{untrusted(near[0], 80)}'?"
    known = ", ".join(untrusted(each, 80) for each in profiles)
    return f"there is {known}" if known else "agents are listed under `agents:` in hookline.yaml"


def _refuse_missing(app: App, name: str, profile: Any) -> None:
    program = _program(profile)
    if program is None or _is_there(program, app.project.root, {**app.environ, **profile.env}):
        return
    raise BadInput(
        f"agent '{untrusted(name, 80)}' needs the program {untrusted(program, 200)},"
        " which is not there",
        help="install it, or correct `command:` of that agent in hookline.yaml;"
        " `hookline doctor` shows PATH",
    )


def _program(profile: Any) -> str | None:
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


def _is_there(program: str, root: str, environ: Mapping[str, str]) -> bool:
    if "/" in program:
        path = os.path.join(root, program)
        return os.path.isfile(path) and os.access(path, os.X_OK)
    return shutil.which(program, path=environ.get("PATH") or os.defpath) is not None
