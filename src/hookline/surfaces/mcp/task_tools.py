"""Tools for tasks, notes, checkpoints and the log: the verbs, in the agent's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.claiming import claim_rule
from hookline.config.pipeline import is_done_by_merge
from hookline.domain.tasks import (
    ACTIVE,
    BLOCKED,
    DEFAULT_PRIORITY,
    OPEN,
    SPAWNED_BY,
    STATES,
    task_number,
)
from hookline.errors import BadInput, HooklineError, NothingReady
from hookline.tasks import checkpoints, claims, dependencies, notes, promises, verbs
from hookline.tasks.loops import STARTED
from hookline.tasks.registrations import registered

if TYPE_CHECKING:
    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction
    from hookline.surfaces.mcp import arguments as a
    from hookline.surfaces.mcp.visit import Session, Visit
    from hookline.tasks.verbs import Holder


class NoSession(HooklineError):
    """You do not work in a session of Hookline."""

    code = "no-session"
    help = "finish your task with task_complete"


def task_get(visit: Visit, args: a.TaskId) -> Any:
    """A task with what belongs to it."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id)
        started = view.log.events(node_id=task.id, types=(STARTED,))
        return {
            **_shown(task),
            "dependents": [e.from_id for e in view.graph.edges_to(task.id, "depends_on")],
            "subtasks": [e.from_id for e in view.graph.edges_to(task.id, SPAWNED_BY)],
            "hookCount": len(registered(view.log, task.id)),
            "lastIterationId": f"IT-{started[-1].seq}" if started else None,
        }


def task_create(visit: Visit, args: a.TaskCreate) -> Any:
    """A new task; in a session it comes from the session's task unless said otherwise."""
    task = visit.change(
        verbs.add,
        args.goal,
        deliverables=args.deliverables or (),
        labels=args.labels or (),
        priority=DEFAULT_PRIORITY if args.priority is None else args.priority,
        task_type=args.type,
        depends_on=args.depends_on or (),
        parent=args.parent_task_id,
        notes=args.notes or (),
        types=visit.types,
    )
    return _shown(task)


def task_list(visit: Visit, args: a.TaskList) -> Any:
    """Tasks, open ones by default."""
    states = STATES if args.state == "all" else (args.state,) if args.state else OPEN
    with visit.app.read() as view:
        found = view.graph.tasks(states=states, label=args.label, task_type=args.type, limit=-1)
        if args.parent_task_id:
            parent = view.graph.task(args.parent_task_id).id
            found = [task for task in found if task.parent_task_id == parent]
    return {"taskCount": len(found), "tasks": [_brief(task) for task in found[: args.limit]]}


def task_next(visit: Visit, args: a.TaskNext) -> Any:
    """The best ready task, taken if wanted."""
    app, agent = visit.app, visit.app.metadata()["triggeredBy"]
    allowed = claim_rule(app.settings)
    try:
        if args.claim:
            return _shown(visit.change(claims.claim_next, agent, allowed=allowed))
        with app.read() as view:
            return _shown(claims.best_ready(view.graph, app.store.now(), agent, allowed))
    except NothingReady as problem:
        raise NothingReady(
            problem.message, help="call task_list to see what waits, and for what"
        ) from problem


def task_update(visit: Visit, args: a.TaskUpdate) -> Any:
    """A task with other fields, or in another state."""
    given = {
        "goal": args.goal,
        "labels": args.labels,
        "desiredDeliverables": args.deliverables,
        "priority": args.priority,
        "note": args.note,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes and args.state is None:
        raise BadInput("nothing to update", help=f"give one of {', '.join(given)} or state")

    def apply(tx: Transaction, holder: Holder) -> Task:
        if changes:
            verbs.update(tx, args.task_id, changes, holder=holder)
        if args.state is not None:
            _move(tx, args, holder)
        return tx.graph.task(args.task_id)

    if args.state in ("ready", "failed", "cancelled"):
        _not_own(visit.session, args.task_id)
    visit.refuse_verdict(args.task_id, "change", [*changes, *([args.state] if args.state else ())])
    return _shown(visit.change(apply, visit.app.holder))


def task_complete(visit: Visit, args: a.TaskComplete) -> Any:
    """A finished task; the session's own is only promised, because the session decides."""
    session = visit.session
    if session is not None and _same(session.task_id, args.task_id):
        told = _promise(visit, session, args.result)
        return {"taskId": session.task_id, "state": ACTIVE, **told}
    visit.refuse_verdict(args.task_id, "complete")
    if _has_gates(visit, args.task_id):
        submitted = visit.change(
            verbs.submit, args.task_id, result=args.result, holder=visit.app.holder
        )
        return {**_shown(submitted), "message": "Its gates decide whether it is completed."}
    task = visit.change(
        verbs.complete,
        args.task_id,
        result=args.result,
        artifacts=args.artifacts or (),
        holder=visit.app.holder,
    )
    return _shown(task)


def task_block(visit: Visit, args: a.TaskBlock) -> Any:
    """A task that cannot go on."""
    session = visit.session
    if session is None or not _same(session.task_id, args.task_id):
        visit.refuse_verdict(args.task_id, "block")
    task = visit.change(
        verbs.block,
        args.task_id,
        reason=args.reason,
        required_knowledge=args.required_knowledge or (),
        holder=visit.app.holder,
    )
    return _shown(task)


def dep_add(visit: Visit, args: a.DepAdd) -> Any:
    """A dependency between two tasks."""
    edge = visit.change(dependencies.link, args.task_id, args.depends_on)
    return {"edgeId": edge.id, "fromId": edge.from_id, "toId": edge.to_id, "edgeType": edge.type}


def note_add(visit: Visit, args: a.NoteAdd) -> Any:
    """A note for whoever works here next."""
    return visit.change(notes.add, args.kind, args.text, task=args.task_id)


def note_list(visit: Visit, args: a.NoteList) -> Any:
    """The newest notes."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id).id if args.task_id else None
        found = notes.listed(view.log, task=task, kind=args.kind, limit=args.limit)
    return {"noteCount": len(found), "notes": found}


def checkpoint_create(visit: Visit, args: a.CheckpointCreate) -> Any:
    """Where the agent stands, kept."""
    given = {
        name: value for name, value in msgspec.structs.asdict(args).items() if value is not None
    }
    task = given.pop("task_id")
    made = visit.change(checkpoints.create, task, checkpoints.Standing(**given))
    return {"checkpointId": made.id, "taskId": made.task_id, "expiresAt": made.expires_at}


def checkpoint_list(visit: Visit, args: a.TaskId) -> Any:
    """The checkpoints of a task, without their content."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id).id
        found = checkpoints.listed(view.log, task, visit.app.store.now())
    shown = ("createdAt", "expiresAt", "expired", "executionPhase", "executionStep")
    listed = [
        {"checkpointId": each.id, **{name: msgspec.to_builtins(each)[name] for name in shown}}
        for each in found
    ]
    return {"taskId": task, "checkpointCount": len(listed), "checkpoints": listed}


def checkpoint_get(visit: Visit, args: a.CheckpointId) -> Any:
    """A whole checkpoint, also one that expired."""
    with visit.app.read() as view:
        return _checkpoint(checkpoints.get(view.log, args.checkpoint_id, visit.app.store.now()))


def checkpoint_resume(visit: Visit, args: a.CheckpointId) -> Any:
    """A checkpoint to go on from, and what to do with it."""
    found = visit.change(checkpoints.resume, args.checkpoint_id)
    with visit.app.read() as view:
        hooks = len(registered(view.log, found.task_id))
    where = " ".join(
        f"{word} {value}"
        for word, value in (("phase", found.execution_phase), ("step", found.execution_step))
        if value is not None
    )
    return {
        **_checkpoint(found),
        "instructions": f"Go on with {found.task_id}"
        + (f" at {where}" if where else "")
        + " from agentContext and draftContent; check the files first, they may have changed."
        + f" Registered hooks are kept ({hooks}); call iteration_start to loop again.",
    }


def session_complete(visit: Visit, args: a.SessionComplete) -> Any:
    """The agent's word that its session is done."""
    session = visit.session
    if session is None:
        raise NoSession
    return _promise(visit, session, args.summary)


def events_tail(visit: Visit, args: a.EventsTail) -> Any:
    """The newest events."""
    with visit.app.read() as view:
        node = view.graph.task(args.task_id).id if args.task_id else None
        types = (args.type,) if args.type else ()
        if node is None and not types and args.after is None:
            return {"events": view.log.tail(args.limit)}
        found = view.log.events(after=args.after or 0, types=types, node_id=node)
    return {"events": found[-args.limit :]}


def _promise(visit: Visit, session: Session, summary: str | None) -> dict[str, Any]:
    visit.change(promises.promise_done, session.run_id, session.task_id, summary)
    return {
        "promised": "COMPLETE",
        "session": session.name,
        "message": "Your promise is recorded. The session decides: its validation and stop hooks"
        " run when your turn ends. End your turn now.",
    }


def _has_gates(visit: Visit, task_id: str) -> bool:
    """Whether a task's work is only done when it is merged."""
    app, session = visit.app, visit.session
    with app.read() as view:
        return is_done_by_merge(
            *(app.settings, app.project.folder, view, view.graph.task(task_id)),
            session.task_id if session else None,
        )


def _move(tx: Transaction, args: a.TaskUpdate, holder: Holder) -> None:
    task = tx.graph.task(args.task_id)
    if args.state == "active":
        verbs.start(tx, task.id, holder=holder)
    elif args.state == "failed":
        verbs.fail(tx, task.id, error=args.reason, holder=holder)
    elif args.state == "cancelled":
        verbs.cancel(tx, task.id, reason=args.reason, holder=holder)
    elif task.state == BLOCKED:
        verbs.unblock(tx, task.id, holder=holder)
    else:
        claims.release(tx, task.id, reason=args.reason, holder=holder)


def _not_own(session: Session | None, task: str) -> None:
    """An agent does not give up its session's own task: that is for the session or a person."""
    if session is not None and _same(session.task_id, task):
        raise BadInput(
            f"{session.task_id} is the task of your session",
            help="if you cannot go on, call task_block and say what you need",
        )


def _same(one: str, other: str) -> bool:
    return task_number(one) == task_number(other)


def _shown(task: Task) -> dict[str, Any]:
    """A task, with its id under the name that tools take it by."""
    return {"taskId": task.id, **msgspec.to_builtins(task)}


def _brief(task: Task) -> dict[str, Any]:
    """A task without what is empty: lists are long, and agents pay for them."""
    return {name: value for name, value in _shown(task).items() if value not in (None, [], ())}


def _checkpoint(found: checkpoints.Checkpoint) -> dict[str, Any]:
    return {"checkpointId": found.id, **msgspec.to_builtins(found)}
