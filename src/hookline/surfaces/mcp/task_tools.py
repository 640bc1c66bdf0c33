"""Tools for tasks, notes, checkpoints and the log: the verbs, in the agent's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.tasks import ACTIVE, DEFAULT_PRIORITY, OPEN, SPAWNED_BY, STATES
from hookline.errors import BadInput, HooklineError
from hookline.operations import claims
from hookline.operations.tasks import PROMISED, SUBMITTED, change, complete, update, writer
from hookline.tasks import checkpoints, notes, planned, verbs
from hookline.tasks.loops import STARTED
from hookline.tasks.registrations import registered

if TYPE_CHECKING:
    from hookline.domain.tasks import Task
    from hookline.operations.tasks import Writer
    from hookline.surfaces.mcp import arguments as a
    from hookline.surfaces.mcp.visit import Visit


class NoSession(HooklineError):
    """You do not work in a session of Hookline."""

    code = "no-session"
    help = "finish your task with task_complete"


def task_get(visit: Visit, args: a.TaskId) -> Any:
    """A task: goal, state, dependencies, subtasks, registered hooks. Call it first."""
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
    """Add a task, for example a part of your own."""
    task = visit.app.change(
        verbs.add,
        args.goal,
        deliverables=args.deliverables or (),
        labels=args.labels or (),
        priority=DEFAULT_PRIORITY if args.priority is None else args.priority,
        task_type=args.type,
        depends_on=args.depends_on or (),
        parent=args.parent_task_id,
        notes=args.notes or (),
        types=msgspec.structs.replace(visit.app.types, by_agent=True),
    )
    return _shown(task)


def task_list(visit: Visit, args: a.TaskList) -> Any:
    """Tasks that are not finished, or those of a state."""
    states = STATES if args.state == "all" else (args.state,) if args.state else OPEN
    with visit.app.read() as view:
        found = view.graph.tasks(states=states, label=args.label, task_type=args.type, limit=-1)
        if args.parent_task_id:
            parent = view.graph.task(args.parent_task_id).id
            found = [task for task in found if task.parent_task_id == parent]
    return {"taskCount": len(found), "tasks": [_brief(task) for task in found[: args.limit]]}


def task_next(visit: Visit, args: a.TaskNext) -> Any:
    """The best task that is ready to be worked on."""
    take = claims.claim_next if args.claim else claims.best_ready
    return _shown(take(visit.app, claims.claimer(visit.app, by_agent=True)))


def task_update(visit: Visit, args: a.TaskUpdate) -> Any:
    """Change a task's fields, add a note to it, or change its state."""
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
    task = update(
        visit.app, args.task_id, changes, _writer(visit), state=args.state, reason=args.reason
    )
    return _shown(task)


def task_complete(visit: Visit, args: a.TaskComplete) -> Any:
    """Say that a task is done."""
    task, how = complete(
        visit.app,
        args.task_id,
        _writer(visit),
        result=args.result,
        artifacts=args.artifacts or (),
    )
    if how == PROMISED:
        return {"taskId": task.id, "state": ACTIVE, **_promised(visit)}
    if how == SUBMITTED:
        return {**_shown(task), "message": "Its gates decide whether it is completed."}
    return _shown(task)


def task_block(visit: Visit, args: a.TaskBlock) -> Any:
    """Say that a task cannot continue, and what a person must provide."""
    task = change(
        visit.app,
        args.task_id,
        "block",
        _writer(visit),
        reason=args.reason,
        required_knowledge=args.required_knowledge or (),
    )
    return _shown(task)


def dep_add(visit: Visit, args: a.DepAdd) -> Any:
    """Let taskId wait until dependsOn is completed."""
    edge = visit.app.change(verbs.link, args.task_id, args.depends_on)
    return {"edgeId": edge.id, "fromId": edge.from_id, "toId": edge.to_id, "edgeType": edge.type}


def note_add(visit: Visit, args: a.NoteAdd) -> Any:
    """Record for the next iteration what you learnt, decided, or are stuck on; without a taskId
    it is for all tasks."""
    return visit.app.change(notes.add, args.kind, args.text, task=args.task_id)


def note_list(visit: Visit, args: a.NoteList) -> Any:
    """Notes of earlier iterations and sessions."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id).id if args.task_id else None
        found = notes.listed(view.log, task=task, kind=args.kind, limit=args.limit)
    return {"noteCount": len(found), "notes": found}


def checkpoint_create(visit: Visit, args: a.CheckpointCreate) -> Any:
    """Keep where you are in a task, before something risky or when you must stop."""
    given = {k: v for k, v in msgspec.structs.asdict(args).items() if v is not None}
    task = given.pop("task_id")
    made = visit.app.change(checkpoints.create, task, checkpoints.CheckpointState(**given))
    return {"checkpointId": made.id, "taskId": made.task_id, "expiresAt": made.expires_at}


def checkpoint_list(visit: Visit, args: a.TaskId) -> Any:
    """The checkpoints of a task."""
    with visit.app.read() as view:
        task = view.graph.task(args.task_id).id
        found = checkpoints.listed(view.log, task, visit.app.store.now())
    shown = ("createdAt", "expiresAt", "expired", "executionPhase", "executionStep")
    whole = [_checkpoint(each) for each in found]
    listed = [{name: each[name] for name in ("checkpointId", *shown)} for each in whole]
    return {"taskId": task, "checkpointCount": len(listed), "checkpoints": listed}


def checkpoint_get(visit: Visit, args: a.CheckpointId) -> Any:
    """A whole checkpoint."""
    with visit.app.read() as view:
        return _checkpoint(checkpoints.get(view.log, args.checkpoint_id, visit.app.store.now()))


def checkpoint_resume(visit: Visit, args: a.CheckpointId) -> Any:
    """Continue from a checkpoint: its data, and what to do. Expired ones are refused."""
    found = visit.app.change(checkpoints.resume, args.checkpoint_id)
    with visit.app.read() as view:
        hooks = len(registered(view.log, found.task_id))
    place = (("phase", found.execution_phase), ("step", found.execution_step))
    where = " ".join(f"{word} {value}" for word, value in place if value is not None)
    return {
        **_checkpoint(found),
        "instructions": f"Continue {found.task_id}"
        + (f" at {where}" if where else "")
        + " from agentContext and draftContent; check the files first, they may have changed."
        + f" Registered hooks are kept ({hooks}); call iteration_start to loop again.",
    }


def session_complete(visit: Visit, args: a.SessionComplete) -> Any:
    """Promise that your session's work is done. Refused while tasks of the session are open."""
    place = visit.app.origin.session
    if place is None:
        raise NoSession
    visit.app.change(planned.promise_done, place.run_id, place.task_id, args.summary)
    return _promised(visit)


def events_tail(visit: Visit, args: a.EventsTail) -> Any:
    """The newest events of the log."""
    with visit.app.read() as view:
        node = view.graph.task(args.task_id).id if args.task_id else None
        types = (args.type,) if args.type else ()
        if node is None and not types and args.after is None:
            return {"events": view.log.tail(args.limit)}
        found = view.log.events(after=args.after or 0, types=types, node_id=node)
    return {"events": found[-args.limit :]}


def _writer(visit: Visit) -> Writer:
    return writer(visit.app, by_agent=True)  # whoever calls tools is one


def _promised(visit: Visit) -> dict[str, str]:
    assert visit.app.origin.session is not None  # whose promise it is
    return {
        "promised": "COMPLETE",
        "session": visit.app.origin.session.name,
        "message": "Your promise is recorded. The session decides: its validation and stop hooks"
        " run when your turn ends. End your turn now.",
    }


def _shown(task: Task) -> dict[str, Any]:
    """A task, with its id under the name that tools take it by."""
    return {"taskId": task.id, **msgspec.to_builtins(task)}


def _brief(task: Task) -> dict[str, Any]:
    """A task without what is empty: lists are long, and agents pay for them."""
    return {name: value for name, value in _shown(task).items() if value not in (None, [], ())}


def _checkpoint(found: checkpoints.Checkpoint) -> dict[str, Any]:
    return {"checkpointId": found.id, **msgspec.to_builtins(found)}
