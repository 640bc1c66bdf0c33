"""Completing a task, and what agents may not decide about work that others check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.tasks import Task, task_number
from hookline.tasks import verbs
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.app import App
    from hookline.tasks.verbs import Holder
    from hookline.wiring.origin import SessionPlace

PROMISED, SUBMITTED, COMPLETED = "promised", "submitted", "completed"


class Completion(NamedTuple):
    """A task that was reported as done, and the result."""

    task: Task
    how: str


def complete(
    app: App,
    identifier: str,
    *,
    by_agent: bool,
    holder: Holder,
    result: str | None = None,
    artifacts: Sequence[str] = (),
    at: str | None = None,
    without_gates: bool = False,
) -> Completion:
    """Complete a task; one with gates is submitted, and a session's own is only promised."""
    place = session_on(app, identifier)
    if place is not None:
        from hookline.tasks.planned import promise_done  # only agents come here

        app.change(promise_done, place.run_id, place.task_id, result)
        with app.read() as view:
            return Completion(view.graph.task(place.task_id), PROMISED)
    if by_agent:
        refuse_judged(app, identifier, "complete")
    if without_gates:
        refuse_agents(app.environ, "task complete --without-gates")
    elif _has_gates(app, identifier):
        task = app.change(verbs.submit, identifier, result=result, holder=holder)
        return Completion(task, SUBMITTED)
    task = app.change(
        verbs.complete, identifier, result=result, artifacts=artifacts, at=at, holder=holder
    )
    return Completion(task, COMPLETED)


def session_on(app: App, identifier: str) -> SessionPlace | None:
    """The session that this process runs in, if it works on that very task."""
    place = app.origin.session
    is_own = place is not None and task_number(identifier) == task_number(place.task_id)
    return place if is_own else None


def refuse_judged(
    app: App, identifier: str, verb: str, changes: Collection[str] = (), *, own: bool = False
) -> None:
    """Refuse an agent a decision about work that a session or gates check.

    With `own`, its session's own task is allowed.
    """
    from hookline.pipeline.checked_work import refuse_verdict  # only agents need it

    if own and session_on(app, identifier) is not None:
        return
    with app.read() as view:
        refuse_verdict(view, view.graph.task(identifier), verb, changes)


def _has_gates(app: App, identifier: str) -> bool:
    """Whether a task's work is only done when it is merged."""
    if app.settings is None:
        return False
    from hookline.config.task_types import is_done_by_merge  # never without settings

    place = app.origin.session
    with app.read() as view:
        return is_done_by_merge(
            *(app.settings, app.project.folder, view, view.graph.task(identifier)),
            place.task_id if place else None,
        )
