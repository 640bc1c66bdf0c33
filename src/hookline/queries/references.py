"""Which piece of work is meant: its task, its session and its runs answer to each other's names."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.domain.runs.model import TERMINAL
from hookline.domain.sessions.model import FLOW
from hookline.domain.tasks import OPEN
from hookline.domain.text.numbers import is_number
from hookline.errors import HooklineError
from hookline.sessions.names import find
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookline.domain.runs.model import Run
    from hookline.ports.store import View

TASKS, SESSIONS, RUNS = "tasks", "sessions", "runs"
RECENT = 200
# Shells expand what they complete, so a name is never code for any of them.
_SAFE = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def is_task(text: str) -> bool:
    """Whether a text has the form of a task's id."""
    return text[:2] in ("T-", "t-") and is_number(text[2:])


def is_run(text: str) -> bool:
    """Whether a text has the form of a run's id."""
    return text[:2] in ("R-", "r-") and is_number(text[2:])


def known_names(view: View, kinds: Collection[str]) -> list[str]:
    """Ids and names of open and recent work that are safe for a shell to complete."""
    recent = view.runs.runs(limit=RECENT)
    found: dict[str, None] = {}
    if TASKS in kinds:
        found |= dict.fromkeys(task.id for task in view.graph.tasks(states=OPEN, limit=RECENT))
        found |= dict.fromkeys(str(run.input.get("taskId")) for run in recent)
    if SESSIONS in kinds:
        found |= dict.fromkeys(str(r.input.get("name")) for r in recent if r.flow == FLOW)
    if RUNS in kinds:
        found |= dict.fromkeys(run.run_id for run in recent)
    return [name for name in found if name != "None" and _SAFE.fullmatch(name)]


def task_meant(view: View, text: str) -> str:
    """The task of a session or a run; any other text as it is."""
    with suppress(HooklineError):
        run = view.runs.find(text) if is_run(text) else find(view, text)
        return str(run.input.get("taskId") or text)
    return text


def run_meant(view: View, text: str) -> str:
    """The run of a session, or the one that works on a task; any other text as it is."""
    with suppress(HooklineError):
        if not is_task(text):
            return find(view, text).run_id
        if found := _last(list(runs_on(view, view.graph.task(text).id))):
            return found.run_id
    return text


def _last(found: list[Run]) -> Run | None:
    """The newest that is not over, else the newest."""
    newest = sorted(found, key=lambda run: run.created_at or "", reverse=True)
    return next((run for run in newest if run.status not in TERMINAL), next(iter(newest), None))
