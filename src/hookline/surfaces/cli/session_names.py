"""Names of sessions: made up from what is to be done, or typed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.errors import BadInput
from hookline.surfaces.cli.session_facts import all_sessions

if TYPE_CHECKING:
    from hookline.ports.store import View

MAX_NAME = 100
LONGEST_MADE_UP = 28
_RUN = re.compile(r"[Rr]-\d+")


def check_name(name: str) -> str:
    """A name that a person chose."""
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= MAX_NAME:
        raise BadInput(f"--name must be 1 to {MAX_NAME} printable characters")
    if name.startswith("-") or _RUN.fullmatch(name):
        raise BadInput(
            f"a session cannot be called '{name}'",
            help="names like R-3 are those of runs, and a dash begins an option",
        )
    return name


def unused_name(view: View, goal: str) -> str:
    """A readable name that no session has or had."""
    words = re.findall(r"[a-z0-9]+", goal.lower()[:400])
    name = ""
    for word in words:
        if len(name) + len(word) + 1 > LONGEST_MADE_UP:
            break
        name = f"{name}-{word}" if name else word
    name = name or words[0][:LONGEST_MADE_UP] if words else "session"
    taken = {run.input["name"] for run in all_sessions(view)}
    free = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *free) if each not in taken and not _RUN.fullmatch(each))
