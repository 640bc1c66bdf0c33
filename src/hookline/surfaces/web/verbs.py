"""What people do on the page: one call of `operations` each, the one that a command makes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import shown_hook
from hookline.domain.tasks import DEFAULT_PRIORITY, shown_state
from hookline.operations import runs, submissions, tasks
from hookline.operations.decisions import RemarkOnLine, decide, override, with_remarks
from hookline.operations.sessions import background as starting
from hookline.operations.sessions import control as session_control
from hookline.surfaces.web import given as g
from hookline.surfaces.web.answers import DoneAnswer
from hookline.tasks import verbs
from hookline.tasks.order import put_in_order
from hookline.wiring.working.work import person

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.operations.submissions import BegunRun
    from hookline.queries.sessions import SessionFacts
    from hookline.surfaces.web.asked import PageRequest

CONTINUES = "a process in the background continues it"


def _done(
    asked: PageRequest,
    message: str,
    *,
    task: str | None = None,
    run: str | None = None,
    session: str | None = None,
    continues: str | None = None,
) -> DoneAnswer:
    """What was done; `continues` is the run that has to be advanced now."""
    if continues is not None and runs.continue_later(asked.app, continues):
        message = f"{message}; {CONTINUES}"
    with asked.app.read() as view:
        last = view.log.last()
    return DoneAnswer(message=message, seq=last, task_id=task, run_id=run, session=session)


# Gates


def _approve(asked: PageRequest) -> DoneAnswer:
    wanted = asked.given(g.ApprovalGiven)
    return _decide(asked, "approve", wanted.comment, wanted.head)


def _reject(asked: PageRequest) -> DoneAnswer:
    wanted = asked.given(g.RejectionGiven)
    said = [RemarkOnLine(e.path, e.line, e.text, e.side == "old") for e in wanted.lines]
    return _decide(asked, "reject", with_remarks(wanted.comment, said), wanted.head)


def _decide(asked: PageRequest, decision: str, comment: str | None, seen: str | None) -> DoneAnswer:
    app = asked.app
    by = asyncio.run(person(app))
    task = asked.parts["task"]
    made = app.change(decide, task, decision, by=by, comment=comment, seen=seen)
    told = f"{made.task_id}: {shown_hook(made.hook or made.point)} gets your answer: {decision}"
    return _done(asked, told, task=made.task_id, run=made.run_id, continues=made.run_id)


def _override(asked: PageRequest) -> DoneAnswer:
    wanted = asked.given(g.OverrideGiven)
    by = asyncio.run(person(asked.app))
    made = override(asked.app, asked.parts["task"], wanted.gate, wanted.reason, by=by)
    told = f"{made.task_id}: {made.gate} at {' and '.join(made.points)} is overridden by {made.by}"
    return _done(asked, told, task=made.task_id)


def _submit(asked: PageRequest) -> DoneAnswer:
    starting.refuse_unready(asked.app)
    wishes = submissions.SubmitWishes({})
    return _begun(asked, asyncio.run(submissions.submit(asked.app, asked.parts["task"], wishes)))


def _merge(asked: PageRequest) -> DoneAnswer:
    starting.refuse_unready(asked.app)
    wishes = submissions.SubmitWishes({})
    return _begun(asked, asyncio.run(submissions.merge(asked.app, asked.parts["task"], wishes)))


def _begun(asked: PageRequest, begun: BegunRun) -> DoneAnswer:
    run = begun.run
    told = f"{run.run_id} ({run.flow}) {'begins' if begun.is_new else 'continues'}"
    task = str(run.input["taskId"])
    return _done(asked, told, task=task, run=run.run_id, continues=run.run_id)


# Tasks


def _add_task(asked: PageRequest) -> DoneAnswer:
    wanted, app = asked.given(g.TaskGiven), asked.app
    task = app.change(
        verbs.add,
        wanted.goal,
        labels=wanted.labels,
        priority=DEFAULT_PRIORITY if wanted.priority is None else wanted.priority,
        task_type=wanted.type,
        depends_on=wanted.depends_on,
        parent=wanted.parent,
        types=app.types,
    )
    return _done(asked, f"{task.id} was added", task=task.id)


def _change_task(asked: PageRequest) -> DoneAnswer:
    wanted, name, app = asked.given(g.ChangesGiven), asked.parts["task"], asked.app
    by = tasks.writer(app)
    if wanted.state == "blocked":
        if wanted.changes:
            tasks.update(app, name, dict(wanted.changes), by)
        task = tasks.change(app, name, "block", by, reason=wanted.reason)
    else:
        changes = dict(wanted.changes)
        task = tasks.update(app, name, changes, by, state=wanted.state, reason=wanted.reason)
    return _done(asked, f"{task.id} is {shown_state(task.state)}", task=task.id)


def _change_dependencies(asked: PageRequest) -> DoneAnswer:
    wanted, name = asked.given(g.DependenciesGiven), asked.parts["task"]
    asked.app.change(verbs.relink, name, add=wanted.add, remove=wanted.remove)
    return _done(asked, "the dependencies were changed", task=name)


def _order_tasks(asked: PageRequest) -> DoneAnswer:
    changed = asked.app.change(put_in_order, asked.given(g.OrderGiven).tasks)
    told = f"the priority of {', '.join(changed)} was changed" if changed else "they were in order"
    return _done(asked, told)


# Sessions


def _start_session(asked: PageRequest) -> DoneAnswer:
    wanted = asked.given(g.SessionGiven)
    known = starting.start_in_background(
        asked.app,
        goal=wanted.goal,
        task=wanted.task,
        agent=wanted.agent,
        name=wanted.name,
        limits=wanted.limits,
        plan=wanted.plan,
    )
    return _session(asked, known, f"{known.name} runs in the background")


def _message(asked: PageRequest) -> DoneAnswer:
    text = session_control.check_message(asked.given(g.MessageGiven).text)
    known = session_control.send_message(asked.app, asked.parts["run"], text)
    later = "" if known.is_alive else ", once it is resumed"
    return _session(asked, known, f"{known.name} gets it with its next prompt{later}")


def _pause_session(asked: PageRequest) -> DoneAnswer:
    known = session_control.halt(asked.app, asked.parts["run"], session_control.PAUSE)
    return _session(asked, known, f"{known.name} pauses after this iteration")


def _stop_session(asked: PageRequest) -> DoneAnswer:
    now = asked.given(g.StopGiven).now
    known = session_control.halt(asked.app, asked.parts["run"], session_control.STOP, now=now)
    return _session(asked, known, f"{known.name} stops {'now' if now else 'after this turn'}")


def _resume_session(asked: PageRequest) -> DoneAnswer:
    wanted = asked.given(g.ResumeGiven)
    run, limits = asked.parts["run"], wanted.limits
    known = starting.resume_in_background(asked.app, run, limits, wanted.message)
    return _session(asked, known, f"{known.name} resumes in the background")


def _session(asked: PageRequest, known: SessionFacts, told: str) -> DoneAnswer:
    return _done(asked, told, task=known.task_id, run=known.run_id, session=known.name)


# Runs


def _answer(asked: PageRequest) -> DoneAnswer:
    wanted, run = asked.given(g.AnswerGiven), asked.parts["run"]
    effect = runs.answer(asked.app, run, wanted.effect_id, wanted.answer, wanted.note)
    told = f"{effect} is answered with {'yes' if wanted.answer else 'no'}"
    return _done(asked, told, run=run, continues=run)


def _resume_run(asked: PageRequest) -> DoneAnswer:
    starting.refuse_unready(asked.app)
    run = runs.steered(asked.app, asked.parts["run"])
    runs.resume(asked.app, run)
    return _done(asked, f"{run.run_id} resumes", run=run.run_id, continues=run.run_id)


def _control(name: str, asked: PageRequest) -> DoneAnswer:
    run = runs.steered(asked.app, asked.parts["run"])
    reason = asked.given(g.ReasonGiven).reason
    is_done = runs.control_run(asked.app, run.run_id, name, reason)
    later = "" if is_done else " as soon as its process has taken that"
    return _done(asked, f"{run.run_id} is {runs.DONE[name]}{later}", run=run.run_id)


VERBS: Mapping[str, Callable[[PageRequest], DoneAnswer]] = {
    "approve": _approve,
    "reject": _reject,
    "override": _override,
    "submit": _submit,
    "merge": _merge,
    "add_task": _add_task,
    "order_tasks": _order_tasks,
    "change_task": _change_task,
    "change_dependencies": _change_dependencies,
    "start_session": _start_session,
    "message": _message,
    "pause_session": _pause_session,
    "stop_session": _stop_session,
    "resume_session": _resume_session,
    "answer": _answer,
    "resume_run": _resume_run,
    **{f"{name}_run": partial(_control, name) for name in ("pause", "stop", "cancel")},
}
