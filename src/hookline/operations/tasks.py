"""Changing and completing a task, and what agents may not decide about work that others check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from hookline.domain.tasks import ACTIVE, BLOCKED, CANCELLED, FAILED, Task, task_number
from hookline.errors import PeopleOnly
from hookline.tasks import claims, verbs
from hookline.tasks.verbs import Holder
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hookline.app import App
    from hookline.ports.store import Transaction
    from hookline.wiring.project.origin import SessionPlace

PROMISED, SUBMITTED, COMPLETED = "promised", "submitted", "completed"
CHANGES: Mapping[str, Callable[..., Task]] = {
    "release": claims.release,
    "start": verbs.start,
    "block": verbs.block,
    "unblock": verbs.unblock,
    "cancel": verbs.cancel,
    "fail": verbs.fail,
}
# An agent gives up others' tasks, but not its session's own, which it can only block.
_GIVES_UP, _FOR_OWN = ("release", "unblock", "cancel", "fail"), "block"


class Writer(NamedTuple):
    """Who changes a task; an agent does not decide about work that a session or gates check."""

    holder: Holder
    by_agent: bool


def writer(app: App, token: int | None = None, *, by_agent: bool | None = None) -> Writer:
    """Who calls, with the token of a claim if one was given."""
    holder = app.origin.holder if token is None else Holder(token=token)
    return Writer(holder, app.origin.by_agent if by_agent is None else by_agent)


def change(app: App, identifier: str, verb: str, by: Writer, **given: Any) -> Task:
    """Carry out one of CHANGES on a task that someone may hold."""
    _refuse(app, identifier, verb, by)
    return app.change(CHANGES[verb], identifier, holder=by.holder, **given)


def delete(app: App, identifier: str, by: Writer) -> tuple[str, int]:
    """Delete a task; its id, and how many edges went with it."""
    _refuse(app, identifier, "delete", by)
    with app.read() as view:
        found = view.graph.task(identifier).id
    return found, app.change(verbs.delete, found, holder=by.holder)


def update(
    app: App,
    identifier: str,
    changes: dict[str, Any],
    by: Writer,
    *,
    state: str | None = None,
    reason: str | None = None,
) -> Task:
    """Change a task's fields, then its state if one is wanted, all or nothing."""
    types = replace(app.types, by_agent=by.by_agent)

    def apply(tx: Transaction) -> Task:
        if changes or state is None:
            verbs.update(tx, identifier, changes, holder=by.holder, types=types)
        if state is not None:
            verb, why = _verb_to(state, tx.graph.task(identifier), reason)
            CHANGES[verb](tx, identifier, holder=by.holder, **why)
        return tx.graph.task(identifier)

    if changes or state is None:
        _refuse(app, identifier, "change", by, changes)
    if state is not None:
        with app.read() as view:
            verb, _ = _verb_to(state, view.graph.task(identifier), reason)
        _refuse(app, identifier, verb, by)
    return app.change(apply)


def _verb_to(state: str, task: Task, reason: str | None) -> tuple[str, dict[str, str | None]]:
    """What leads a task to a state, and what it takes besides."""
    if state == ACTIVE:
        return "start", {}
    if state == FAILED:
        return "fail", {"error": reason}
    if state == CANCELLED:
        return "cancel", {"reason": reason}
    return ("unblock", {}) if task.state == BLOCKED else ("release", {"reason": reason})


class Completion(NamedTuple):
    """A task that was reported as done, and the result."""

    task: Task
    how: str


def complete(
    app: App,
    identifier: str,
    by: Writer,
    *,
    result: str | None = None,
    artifacts: Sequence[str] = (),
    at: str | None = None,
    without_gates: bool = False,
) -> Completion:
    """Complete a task; one with gates is submitted, and a session's own is only promised."""
    place = _session_on(app, identifier)
    if place is not None:
        from hookline.tasks.planned import promise_done  # only agents come here

        app.change(promise_done, place.run_id, place.task_id, result)
        with app.read() as view:
            return Completion(view.graph.task(place.task_id), PROMISED)
    _refuse(app, identifier, "complete", by)
    if without_gates:
        refuse_agents(app.environ, "task complete --without-gates")
    elif _has_gates(app, identifier):
        task = app.change(verbs.submit, identifier, result=result, holder=by.holder)
        return Completion(task, SUBMITTED)
    task = app.change(
        verbs.complete, identifier, result=result, artifacts=artifacts, at=at, holder=by.holder
    )
    return Completion(task, COMPLETED)


def _session_on(app: App, identifier: str) -> SessionPlace | None:
    """The session that this process runs in, if it works on that very task."""
    place = app.origin.session
    is_own = place is not None and task_number(identifier) == task_number(place.task_id)
    return place if is_own else None


def _refuse(
    app: App, identifier: str, verb: str, by: Writer, changes: Collection[str] = ()
) -> None:
    """Refuse an agent a decision about work that a session or gates check."""
    if not by.by_agent:
        return
    own = _session_on(app, identifier)
    if own is not None and verb == _FOR_OWN:
        return
    if own is not None and verb in _GIVES_UP:
        why = f"{own.task_id} is the task of your session: only a person can {verb} it"
        help = "if you cannot continue, say what you need: task_block, or `hookline task block`"
        raise PeopleOnly(why, help=help)
    from hookline.pipeline.checked_work import refuse_verdict  # only agents need it

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
