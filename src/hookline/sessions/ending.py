"""The end of a session: what happens to its task, and whether a person has to look at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookline.domain import tasks as task_states
from hookline.domain.runs.model import CANCELLED, Run
from hookline.domain.sessions import model as sessions
from hookline.domain.tasks import BLOCKED, HELD_UP, SETTLED, Task, shown_state
from hookline.domain.text.display import line_of
from hookline.domain.text.terminal import plural
from hookline.domain.work.repository import control_told
from hookline.errors import HooklineError
from hookline.ports.store import Transaction, View
from hookline.sessions.git_control import changed_in
from hookline.sessions.requests import Ending, LostTask, SessionRequest
from hookline.tasks import claims, registrations, verbs
from hookline.tasks.verbs import Holder

# Submits the work of a completed session: the session, its task, how it ended.
Submit = Callable[[Transaction, Run, Task, Ending], None]
# Starts over with a task, however its earlier sessions ended.
WENT_ON = ("task_started", "task_unblocked", "submission_started")


def end(tx: Transaction, run: Run, asked: SessionRequest, submit: Submit) -> dict[str, Any]:
    """End a session, or suspend it: its task is completed, blocked or released."""
    instead = _instead(tx, run, asked.ended)
    ended: Ending = asked.ended | instead
    tx.runs.set_value(run.run_id, sessions.STANDING, ended["outcome"])
    task = tx.graph.find(run.input["taskId"])
    more = {
        "taskError": _finish_task(tx, run, task, ended, submit) if task is not None else None,
        "taskHeld": _held(tx, run, ended),
        # It cannot be resumed.
        "taskSettled": task is None or task.state not in task_states.OPEN,
        "unheard": 0 if ended["resumable"] else asked.unheard + len(messages_of(tx, run)),
    }
    if task is not None:
        registrations.clear(tx, task.id)
    found = {name: value for name, value in more.items() if value}
    tx.append("session_ended", run.run_id, {**ended, **found})
    return {"now": tx.now, "instead": instead}


def _instead(tx: Transaction, run: Run, ended: Ending) -> dict[str, str | bool]:
    """How a session ends otherwise than its flow knew: it lost its task, or more is known."""
    if ended["outcome"] == sessions.LIMIT and ended["reason"] != "failures":
        last = _last_wrong(tx, run)
        return {"message": f"{ended['message']}; last: {last}"} if last else {}
    lost = lost_task(tx, run, is_promised=True) if ended["outcome"] == sessions.COMPLETED else {}
    if not lost:
        return {}
    outcome, reason = lost["outcome"], lost["lost"]
    return {
        "outcome": outcome,
        "reason": reason,
        "message": reason,
        "resumable": outcome != sessions.FAILED,
    }


def _last_wrong(view: View, run: Run) -> str:
    """What was wrong with the last iteration: its turn failed, or its checks; else empty."""
    events = view.log.events(node_id=run.run_id, types=("session_iteration_ended",))
    if not events:
        return ""
    last = events[-1].data
    if last["status"] == "failed":
        every = len(events) > 1 and all(each.data["status"] == "failed" for each in events)
        told = "every turn failed" if every else "the turn failed"
        return f"{told}: {line_of(last['error'] or 'no reason was given')}"
    if last["passed"] < last["rules"]:
        failed = f"{last['rules'] - last['passed']} of {plural(last['rules'], 'check')} failed"
        return line_of(last["reason"] or failed)
    return ""


def break_off(tx: Transaction, run: Run, outcome: str, reason: str) -> None:
    """Release the task of a session that failed or was cancelled."""
    if tx.runs.value(run.run_id, sessions.STANDING) not in (sessions.LIVE, sessions.PAUSED):
        return
    tx.runs.set_value(run.run_id, sessions.STANDING, outcome)
    task = tx.graph.find(run.input["taskId"])
    if task is None:
        return
    turns = (run.state or {}).get("turns", 0)
    ended = Ending(outcome=outcome, reason=reason, message=reason, turns=turns, resumable=False)
    error = _finish_task(tx, run, task, ended)
    registrations.clear(tx, task.id)
    if error:
        tx.append("run_log", run.run_id, {"message": f"{task.id} was not released: {error}"})


def _finish_task(
    tx: Transaction, run: Run, task: Task, ended: Ending, submit: Submit | None = None
) -> str | None:
    if task.state in SETTLED or task.claim is None or task.claim.agent != agent_of(run):
        return None
    holder = Holder(task.claim.agent, task.claim.token)
    used = (task.turns_used or 0) + ended["turns"]
    try:
        with tx.nested():
            if "problem" not in ended or ended["turns"]:
                verbs.update(tx, task.id, {"turnsUsed": used}, holder=holder)
            if ended["outcome"] == sessions.COMPLETED and (changed := changed_in(tx, run)):
                _leave_to_person(tx, run, task, control_told(changed), holder)
            elif ended["outcome"] == sessions.COMPLETED and run.input.get("branch"):
                assert submit is not None  # a session that is broken off is never completed
                verbs.submit(tx, task.id, result=ended["reason"][:2000], holder=holder)
                submit(tx, run, task, ended)
            elif ended["outcome"] == sessions.COMPLETED:
                verbs.complete(tx, task.id, result=ended["reason"][:2000], holder=holder)
            elif ended["outcome"] == sessions.ESCALATED and "problem" not in ended:
                verbs.block(tx, task.id, reason=ended["reason"][:2000], holder=holder)
            elif ended["outcome"] == sessions.LIMIT or (
                ended["outcome"] in (sessions.FAILED, CANCELLED) and run.input.get("branch")
            ):
                # A worker must not take it again and again: a person looks first.
                outcome = sessions.outcome_word(ended["outcome"], ended["reason"])
                why = f"{outcome}: {ended['message']}"
                verbs.send_back(tx, task.id, reason=why[:2000])
            else:
                unable = "the agent cannot work" if "problem" in ended else None
                why = unable or f"session {ended['outcome']}"
                claims.release(tx, task.id, reason=why, holder=holder)
    except HooklineError as problem:
        return problem.message
    return None


def _held(tx: Transaction, run: Run, ended: Ending) -> str | None:
    """Why the task of a session that is done waits for a person, if it does."""
    task = tx.graph.find(run.input["taskId"])
    if ended["outcome"] != sessions.COMPLETED or task is None or task.state not in HELD_UP:
        return None
    return control_told(changed_in(tx, run))


def _leave_to_person(tx: Transaction, run: Run, task: Task, why: str, holder: Holder) -> None:
    """Keep finished work as it is until a person has looked at it."""
    if run.input.get("branch"):
        verbs.send_back(tx, task.id, reason=why)
    else:
        verbs.block(tx, task.id, reason=why, holder=holder)


def lost_task(tx: Transaction, run: Run, *, is_promised: bool = False) -> LostTask:
    """How a session ends that has lost its task, and why; empty if it still has it.

    A task that was completed or submitted already does not contradict an agent that says so.
    """
    task = tx.graph.find(run.input["taskId"])
    outcome = sessions.STOPPED
    if task is None:
        why = f"{run.input['taskId']} was deleted"
    elif is_promised and task.state in (task_states.COMPLETED, task_states.SUBMITTED):
        return {}
    elif task.state == BLOCKED:
        outcome, why = sessions.ESCALATED, task.block_reason or f"{task.id} is blocked"
    elif task.state == task_states.FAILED:
        outcome, why = sessions.FAILED, f"{task.id} failed: {task.result or 'no reason was given'}"
    elif task.state in SETTLED:
        why = f"{task.id} is {shown_state(task.state)}"
    elif task.claim is None or task.claim.agent != agent_of(run):
        why = f"{task.id} is no longer claimed by {agent_of(run)}"
    else:
        return {}
    return {"outcome": outcome, "lost": why}


def agent_of(run: Run) -> str:
    """The agent of a session, as it claims tasks."""
    return run.input.get("agent") or "agent"


def messages_of(tx: Transaction, run: Run) -> list[str]:
    """Take the messages that people sent; their other requests stay."""
    sent = [(seq, value) for seq, name, value in tx.runs.signals(run) if name == sessions.SIGNAL]
    found = [(seq, value["text"]) for seq, value in sent if value["verb"] == "message"]
    for seq, _ in found:
        tx.runs.consume_signal(seq)
    return [text for _, text in found]


def asks_person(view: View, run: Run) -> bool:
    """Whether a person has to look at a session: it asks for one, or a limit was reached."""
    status = view.runs.value(run.run_id, sessions.STANDING)
    return status in (sessions.ESCALATED, sessions.LIMIT) and not is_passed_over(view, run)


def is_passed_over(view: View, run: Run) -> bool:
    """Whether a session needs no one's attention: its task is over, or continued without it."""
    task_id: str = run.input["taskId"]
    task = view.graph.find(task_id)
    if task is None or task.state in SETTLED:
        return True
    if view.runs.value(run.run_id, sessions.STANDING) in (sessions.LIVE, sessions.PAUSED):
        return False
    ended = view.log.events(node_id=run.run_id, types=("session_ended",))
    went_on = view.log.events(node_id=task_id, types=WENT_ON, after=ended[-1].seq) if ended else ()
    return bool(went_on)
