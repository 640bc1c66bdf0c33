"""What waits for a person, since when, and which command to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.queries.sessions import facts
from hookline.queries.waiting import hooks, merges, sessions, tasks
from hookline.sessions.ending import is_passed_over
from hookline.tasks.task_runs import live_sessions

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import View
    from hookline.queries.waiting.item import Item


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
        *hooks.held_back_hooks(app),
        *sessions.resting_sessions(view, left),
        *sessions.failed_sessions(view, known.values()),
        *sessions.waiting_runs(view, known),
        *merges.asked_gates(view),
        *merges.pending_gates(app, view),
        *merges.merged_work(view),
        *merges.left_submissions(app, view),
        *tasks.held_up_tasks(app, view, left),
        *tasks.untaken_tasks(app, view),
        *hooks.failing_hooks(app, view),
        *hooks.dead_calls(view),
    ]
