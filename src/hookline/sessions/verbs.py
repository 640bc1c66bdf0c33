"""What a session does to the store: each a part of one transaction, journaled with its result."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hookline import typed
from hookline.domain import tasks as task_states
from hookline.domain.events import SYSTEM_NODE, Event
from hookline.domain.sessions.model import FLOW, LIVE, PAUSED, SIGNAL, STANDING, STOPPED, HeldOutput
from hookline.domain.tasks import SETTLED, Task
from hookline.errors import ClaimRefused, HooklineError, StaleClaim
from hookline.flows import control
from hookline.hooks.framing import new_word
from hookline.sessions import requests, spending
from hookline.sessions.ending import Submit, agent_of, end, lost_task, messages_of
from hookline.sessions.requests import SessionRequest
from hookline.sessions.starting import CONTINUES, refuse_second, take_task
from hookline.sessions.state import LEASE_MARGIN
from hookline.sessions.told.continuation import story
from hookline.tasks import checkpoints, claims
from hookline.tasks.planned import await_parts, tasks_below
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.domain.runs.model import Run
    from hookline.ports.store import Transaction, View
    from hookline.sessions.spending import Cost

    Verb = Callable[[Transaction, Run, SessionRequest], Any]

READY_SHOWN = 20
NOTES_SHOWN = 50


def ask_to_stop(tx: Transaction, run_id: str, why: str | None) -> None:
    """Let a session end after its turn; `why`, if no person asked for it."""
    control.send(tx, run_id, SIGNAL, {"verb": "stop", **({"reason": why} if why else {})})


def may_begin(view: View, run: Run, turn: str) -> bool:
    """Whether a turn begins: no turn with new work does after a stop was asked for."""
    wishes = [value["verb"] for _, name, value in view.runs.signals(run) if name == SIGNAL]
    return turn not in ("plan", "turn") or "stop" not in wishes


def performer(submit: Submit) -> Callable[[Transaction, Run, Mapping[str, Any]], Any]:
    """The function that carries out one verb of a session; its result is journaled.

    `submit` takes finished work to its gates.
    """
    verbs: dict[str, Verb] = {**_VERBS, "end": partial(end, submit=submit)}

    def perform(tx: Transaction, run: Run, args: Mapping[str, Any]) -> Any:
        asked = typed.convert(args, SessionRequest)
        return verbs[asked.verb](tx, run, asked)

    return perform


def _hear(tx: Transaction, run: Run, asked: SessionRequest) -> requests.Inbox:
    """What people asked for so far, between two steps of an iteration."""
    return _inbox(tx, run)


def _details(tx: Transaction, run: Run, asked: SessionRequest) -> requests.TaskDetails:
    """What belongs to the session's task besides its goal."""
    task = tx.graph.find(run.input["taskId"])
    if task is None:
        return {}
    return {"deliverables": list(task.desired_deliverables), "notes": list(task.notes)}


def _brief(tx: Transaction, run: Run, asked: SessionRequest) -> requests.Brief:
    """Begin an iteration: what its prompt is made of, read at one moment."""
    heard = _inbox(tx, run)
    lost = _keep_claim(tx, run, asked.lease)
    taken = heard["wants"] is None and not lost
    tasks = _tasks(tx, run.input["taskId"])
    if taken:
        counts = {"done": tasks["done"], "all": tasks["all"], "ready": len(tasks["ready"])}
        told = {"iteration": asked.iteration, "countdown": asked.countdown, "tasks": counts}
        tx.append("session_iteration", run.run_id, told)
    continued = _continued(tx, run) if taken else requests.Continued(sentBack="")
    return {
        **heard,
        "lost": None,
        **lost,
        "held": _told(tx.sessions.drain(run.run_id)) if taken else [],
        **continued,
        "nonce": new_word(),
        "tasks": tasks,
        "notes": _notes(tx, run),
        "details": _details(tx, run, asked),
    }


def _continued(tx: Transaction, run: Run) -> requests.Continued:
    """Why the work was sent back, or what a person was asked about it: for the first prompt of the
    session that continues it."""
    continues = tx.runs.value(run.run_id, CONTINUES)
    if continues is None:
        return {"sentBack": ""}
    tx.runs.set_value(run.run_id, CONTINUES, None)
    if isinstance(continues, str):
        return {"sentBack": continues, "asked": True}
    return {"sentBack": story(tx, tx.graph.task(run.input["taskId"]).id)}


def _await_parts(tx: Transaction, run: Run, asked: SessionRequest) -> dict[str, list[str]]:
    """What was planned below the session's task and is not done: the task comes after it."""
    return {"waitsFor": await_parts(tx, run.input["taskId"])}


def _drain(tx: Transaction, run: Run, asked: SessionRequest) -> requests.Drained:
    """Held output to deliver now; for a session that is done, messages of people as well."""
    return {
        "held": _told(tx.sessions.drain(run.run_id)),
        "messages": messages_of(tx, run) if asked.messages else [],
        "nonce": new_word(),
    }


def _close(tx: Transaction, run: Run, asked: SessionRequest) -> requests.Closed:
    """End an iteration; the session may have lost its task by now."""
    heard = _inbox(tx, run)
    used = _used(tx, run, spending.cost_of(spending.turns_of_run(tx, run)))
    spent = spending.spent_for(tx, run)
    tx.append("session_iteration_ended", run.run_id, {**asked.ended, **used})
    lost = lost_task(tx, run, is_promised=asked.ended.get("decision") == "complete")
    checkpoint = _checkpoint(tx, run, asked.checkpoint) if asked.checkpoint else None
    return {
        **heard,
        **lost,
        "checkpoint": checkpoint,
        "spent": {"usd": spent.usd or 0.0, "tokens": spent.tokens},
        "used": used,
    }


def _used(tx: Transaction, run: Run, spent: Cost) -> requests.Spent:
    """What an iteration cost, of all that the session and its hooks have spent so far."""
    before = tx.log.events(node_id=run.run_id, types=("session_iteration_ended",))
    usd = (spent.usd or 0.0) - sum(event.data["usd"] for event in before)
    tokens = spent.tokens - sum(event.data["tokens"] for event in before)
    return {"usd": max(round(usd, 6), 0.0), "tokens": max(tokens, 0)}


def _checkpoint(tx: Transaction, run: Run, data: Any) -> str | None:
    try:
        with tx.nested():
            return checkpoints.create_from(tx, run.input["taskId"], data).id
    except HooklineError as problem:  # a hook's data may be anything; the loop continues
        tx.append("run_log", run.run_id, {"message": f"no checkpoint: {problem.message}"})
        return None


def _wait(tx: Transaction, run: Run, asked: SessionRequest) -> dict[str, str]:
    """Let the session wait: its model is not available, or a person wants a pause."""
    if asked.paused:
        tx.runs.set_value(run.run_id, STANDING, PAUSED)
        planned = {"planned": True} if asked.planned else {}
        tx.append("session_paused", run.run_id, {"used": asked.used, **planned})
    else:
        details = {"reason": asked.reason, "until": asked.until, "seconds": asked.seconds}
        tx.append("session_waits", run.run_id, details)
        _keep_claim(tx, run, asked.seconds + LEASE_MARGIN)
    return {"now": tx.now}


def _go_on(tx: Transaction, run: Run, asked: SessionRequest) -> dict[str, str | None]:
    """Resume the session after a wait, a pause or an ending; its task is claimed again."""
    lost = None
    if asked.again:
        try:
            with tx.nested():
                refuse_second(tx, run.input["taskId"], run.run_id)
                take_task(tx, run.input["taskId"], agent_of(run), 3600.0)
        except HooklineError as problem:
            lost = problem.message
    if lost is None:
        tx.runs.set_value(run.run_id, STANDING, LIVE)
        tx.append("session_resumed", run.run_id, {})
    return {"now": tx.now, "lost": lost}


_VERBS: dict[str, Verb] = {
    "brief": _brief,
    "details": _details,
    "await_parts": _await_parts,
    "hear": _hear,
    "drain": _drain,
    "close": _close,
    "wait": _wait,
    "go_on": _go_on,
}


# What they share


def _keep_claim(tx: Transaction, run: Run, lease: float) -> requests.LostTask:
    """Renew the claim on the session's task; if that fails, how the session ends, and why."""
    lost = lost_task(tx, run)
    task = tx.graph.find(run.input["taskId"])
    if lost or task is None or task.claim is None:
        return lost
    try:
        claims.renew(tx, task.id, task.claim.token, min(lease, claims.MAX_LEASE))
    except (ClaimRefused, StaleClaim) as problem:
        return {"outcome": STOPPED, "lost": problem.message}
    return {}


def _inbox(tx: Transaction, run: Run) -> requests.Inbox:
    """What people asked for so far: to stop or pause, other limits, and their messages."""
    heard = requests.Inbox(now=tx.now, wants=None, why=None, messages=[], limits={})
    for seq, name, value in tx.runs.signals(run):
        if name != SIGNAL:
            continue
        tx.runs.consume_signal(seq)
        if value["verb"] == "message":
            heard["messages"].append(value["text"])
        elif value["verb"] in ("stop", "pause"):
            heard["wants"] = "stop" if "stop" in (heard["wants"], value["verb"]) else "pause"
            heard["why"] = heard["why"] or value.get("reason")
        elif value["verb"] == "resume":  # a killed session does not wait for it
            heard["limits"] |= value.get("limits") or {}
    return heard


def _told(held: list[HeldOutput]) -> list[requests.HookOutput]:
    return [{"hook": each.hook, "point": each.point, "text": each.text} for each in held]


def _tasks(tx: Transaction, task_id: str) -> requests.TasksBelow:
    below = [task for task in tasks_below(tx, task_id) if task.state != "cancelled"]
    ready = [task for task in below if task.state in ("ready", "active")]
    waiting = [task for task in below if task.state in task_states.OPEN and task not in ready]
    merged = [task for task in below if task.state == task_states.COMPLETED and task.commits_count]
    return {
        "done": sum(task.state in SETTLED for task in below),
        "all": len(below),
        "ready": [_shown(tx, task) for task in ready[:READY_SHOWN]],
        "waiting": [_shown(tx, task) for task in waiting[:READY_SHOWN]],
        "merged": [_shown(tx, task) for task in merged[:READY_SHOWN]],
    }


def _shown(tx: Transaction, task: Task) -> requests.ListedTask:
    needed = [edge.to_id for edge in tx.graph.edges_from(task.id, task_states.DEPENDS_ON)]
    waits = [each for each in needed if tx.graph.task(each).state != task_states.COMPLETED]
    return {"id": task.id, "goal": task.goal, "state": task.state, "waitsFor": waits}


def _notes(tx: Transaction, run: Run) -> list[dict[str, str]]:
    """Notes on the session's tasks, of its sessions, and of people for all; only the newest."""
    task_id = run.input["taskId"]
    tasks = {task_id, *(task.id for task in tasks_below(tx, task_id))}
    sessions = {each.run_id for each in runs_on(tx, task_id, FLOW)}

    def belongs(event: Event) -> bool:
        by = event.metadata.get("run")
        is_for_all = event.node_id == SYSTEM_NODE and by is None
        return event.node_id in tasks or by in sessions or is_for_all

    found = (event.data for event in tx.log.events(types=("note_added",)) if belongs(event))
    return [{"kind": each["kind"], "text": each["text"]} for each in found][-NOTES_SHOWN:]
