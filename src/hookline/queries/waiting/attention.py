"""What waits for a person, since when, and which command to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.project import FOLDER_NAME
from hookline.queries.sessions import facts
from hookline.queries.waiting import hooks, merges, sessions, tasks
from hookline.queries.waiting.item import Item, sentence
from hookline.sessions.ending import is_passed_over
from hookline.tasks.task_runs import live_sessions
from hookline.wiring.project.stores import REPLACED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.ports.store import View


def attention(app: App) -> list[Item]:
    """Everything that waits for a person."""
    with app.read() as view:
        return items(app, view)


def items(app: App, view: View) -> list[Item]:
    """The same, of one moment of the store."""
    live = live_sessions(view)
    known = {run.run_id: facts(view, run) for run in live}
    left = [known[run.run_id] for run in live if not is_passed_over(view, run)]
    return [
        *_replaced_store(app),
        *hooks.held_back_hooks(app),
        *sessions.resting_sessions(view, left),
        *sessions.failed_sessions(view, known.values()),
        *sessions.waiting_runs(view, known),
        *sessions.answered_runs(app, view),
        *merges.asked_gates(view),
        *merges.pending_gates(app, view),
        *merges.merged_work(view),
        *merges.left_submissions(app, view),
        *tasks.held_up_tasks(app, view, left),
        *tasks.untaken_tasks(app, view),
        *hooks.failing_hooks(app, view),
        *hooks.dead_calls(view),
    ]


def _replaced_store(app: App) -> Iterator[Item]:
    if REPLACED in app.store.notices:
        yield Item("store", FOLDER_NAME, None, sentence(REPLACED), "hookline doctor", "store")
