"""What a process inside a run cannot do, because the run waits for that process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import IllegalTransition
from hookline.flows.called_runs import callers
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from hookline.app import App


def refuse_inside(app: App, run_id: str) -> None:
    """A process that a run waits for cannot wait for the run, or for one that called it."""
    inside = _own_run(app)
    if inside == run_id or (inside and _is_called(app, inside, run_id)):
        raise IllegalTransition(
            f"this process runs inside {run_id}, which cannot advance until it ends",
            help=f"`hookline effect run {run_id} EFFECT` runs one effect",
        )


def refuse_worker(app: App) -> None:
    """A worker is started by a person, and not inside a run, because it waits for every run."""
    if run_id := _own_run(app):
        raise IllegalTransition(
            f"this process runs inside {run_id}, which would then wait for itself",
            help="start the worker from your own terminal",
        )
    refuse_agents(app.environ, "work")


def _own_run(app: App) -> str | None:
    return app.environ.get("HOOKLINE_RUN_ID")


def _is_called(app: App, inside: str, run_id: str) -> bool:
    """Whether a run was called by another, through however many."""
    with app.read() as view:
        return run_id in (run.run_id for run in callers(view, inside))
