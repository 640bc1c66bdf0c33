"""Commands that only people may use: refused to agents, hooks and whatever those start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.errors import HooklineError, PeopleOnly
from hookline.project import find_project

if TYPE_CHECKING:
    from collections.abc import Mapping

# Agents and hooks; and what effects and sessions start, such as tests that an agent wrote.
MAX_ANCESTORS, MAX_VARIABLES = 64, 1 << 20
AGENT_VARIABLES = ("HOOKLINE_AGENT", "HOOKLINE_HOOK", "HOOKLINE_EFFECT_ID", "HOOKLINE_SESSION")


def under_agent(environ: Mapping[str, str]) -> bool:
    """Whether this process was started by an agent or a hook, whatever it does to its variables."""
    return any(environ.get(name) for name in AGENT_VARIABLES) or _descends_from_agent(environ)


def _descends_from_agent(environ: Mapping[str, str]) -> bool:
    """Whether a process above this one is an agent or a hook of this very project.

    One that cut itself off from those that started it is not found.
    """
    try:
        folder = find_project(os.getcwd(), environ).folder
    except (HooklineError, OSError):
        return False
    own = b"HOOKLINE_DIR=" + os.fsencode(os.path.abspath(folder))
    names = tuple(f"{name}=".encode() for name in AGENT_VARIABLES)
    pid = os.getppid()
    for _ in range(MAX_ANCESTORS):
        if pid <= 1:
            break
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read(MAX_VARIABLES).split(b"\0")
            with open(f"/proc/{pid}/stat", "rb") as file:
                # The name of a program may hold blanks and parentheses.
                pid = int(file.read(4096).rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # another user's, gone, or no /proc at all
            break
        if own in variables and any(each.startswith(names) for each in variables):
            return True
    return False


def refuse_agents(environ: Mapping[str, str], command: str) -> None:
    """For the commands that only people may use."""
    if under_agent(environ):
        raise PeopleOnly(f"`hookline {command}` is for people; this runs under an agent or a hook")
