"""Which session is meant: all of them, one by its name, and names for new ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.sessions.model import WORKER, UnknownSession
from hookline.domain.text.display import untrusted
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.runs.model import Run
    from hookline.ports.store import View

MAX_NAME = 100
LONGEST_MADE_UP = 28
# Names of runs and tasks, and of the worker.
_TAKEN = re.compile(rf"[RrTt]-\d+|{WORKER}")


def all_sessions(view: View) -> Iterator[Run]:
    """Every session, the newest first."""
    return (view.runs.find(run_id) for run_id in view.sessions.newest(runs.EVERY))


def find(view: View, name: str) -> Run:
    """A session by its name, its run or its task; of several, the newest that is not over."""
    called = [run for run in all_sessions(view) if name in _names(run)]
    if not called:
        raise UnknownSession(f"there is no session '{untrusted(name, 80)}'{_near(view, name)}")
    return next((run for run in called if run.status not in runs.TERMINAL), called[0])


def _names(run: Run) -> tuple[str, ...]:
    return run.input["name"], run.run_id, run.input["taskId"]


def _near(view: View, name: str) -> str:
    from difflib import get_close_matches  # only a wrong name needs it

    known = [run.input["name"] for run in all_sessions(view)]
    near = get_close_matches(name, known, n=1)
    return f"; did you mean '{untrusted(near[0], 80)}'?" if near else ""


def check_name(name: str) -> str:
    """A name that a person chose."""
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= MAX_NAME:
        raise BadInput(f"--name must be 1 to {MAX_NAME} printable characters")
    if name.startswith("-") or _TAKEN.fullmatch(name):
        help = (
            f"R-3 and T-3 are names of runs and tasks, `{WORKER}` means the worker, "
            "and a dash begins an option"
        )
        raise BadInput(f"a session cannot be called '{name}'", help=help)
    return name


def unused_name(view: View, goal: str) -> str:
    """A readable name that no session has ever had."""
    words = re.findall(r"[a-z0-9]+", goal.lower()[:400])
    name = ""
    for word in words:
        if len(name) + len(word) + 1 > LONGEST_MADE_UP:
            break
        name = f"{name}-{word}" if name else word
    name = name or words[0][:LONGEST_MADE_UP] if words else "session"
    taken = {run.input["name"] for run in all_sessions(view)}
    free = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *free) if each not in taken and not _TAKEN.fullmatch(each))
