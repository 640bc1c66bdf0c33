"""What a session does to the store: each a part of one transaction, journaled with its result."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import tasks as task_states
from hookline.domain.events import SYSTEM_NODE
from hookline.domain.limits import raised
from hookline.domain.moments import seconds
from hookline.domain.repository import control_told
from hookline.domain.runs import CANCELLED
from hookline.domain.sessions import (
    COMPLETED,
    ESCALATED,
    FAILED,
    FLOW,
    LIMIT,
    LIVE,
    PAUSED,
    SIGNAL,
    STANDING,
    STOPPED,
    Charge,
    SessionBusy,
    told_as,
)
from hookline.domain.submissions import SUBMIT, Submission
from hookline.domain.tasks import BLOCKED, SETTLED
from hookline.errors import ClaimRefused, HooklineError, StaleClaim
from hookline.flows import control, gate_verbs, gating, journal, spending
from hookline.flows.continuation import asked, story, was_sent_back
from hookline.flows.git_control import changed_in
from hookline.flows.session_state import LEASE_MARGIN
from hookline.hooks.framing import new_word
from hookline.tasks import checkpoints, claims, registrations, verbs
from hookline.tasks.verbs import Holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.events import Event
    from hookline.domain.runs import Run
    from hookline.domain.sessions import HeldOutput
    from hookline.domain.tasks import Task
    from hookline.flows.spending import Cost
    from hookline.ports.store import Transaction, View

# What a run remembers as long as its agent has not heard why the work was sent back.
CONTINUES = "hookline.continues"
READY_SHOWN = 20
NOTES_SHOWN = 50


def start(
    tx: Transaction,
    charge: Charge,
    *,
    code_digest: str,
    pins: dict[str, Any],
    lease: float,
) -> str:
    """A new session on a task: the task is claimed and started, the run waits to be advanced."""
    for other in tx.sessions.live():
        run = tx.runs.find(other)
        if run.input.get("name") == charge.name:
            raise SessionBusy(
                f"there is a session '{charge.name}' already",
                help=f"{_way_on(tx, run)}; or choose another name",
            )
    agent = charge.agent or "agent"
    _refuse_second(tx, charge.task_id)
    task_id = tx.graph.task(charge.task_id).id
    continues = was_sent_back(tx, task_id) or asked(tx, task_id)
    _take_task(tx, charge.task_id, agent, lease)
    given = msgspec.to_builtins(charge)
    run_id = journal.start(tx, FLOW, given, {}, code_digest=code_digest, pins=pins)
    tx.runs.set_value(run_id, STANDING, LIVE)
    if continues:
        tx.runs.set_value(run_id, CONTINUES, continues)
    tx.append("session_started", run_id, given)
    return run_id


def ask_to_stop(tx: Transaction, run_id: str, why: str | None) -> None:
    """Let a session end after its turn; `why`, if it is not a person who wants that."""
    control.send(tx, run_id, SIGNAL, {"verb": "stop", **({"reason": why} if why else {})})


def may_begin(view: View, run: Run, turn: str) -> bool:
    """Whether a turn begins: none with which work begins does so after a stop was asked for."""
    wishes = [value["verb"] for _, name, value in view.runs.signals(run) if name == SIGNAL]
    return turn not in ("plan", "turn") or "stop" not in wishes


def perform(tx: Transaction, run_id: str, args: dict[str, Any]) -> Any:
    """Carry out one verb of a session; what it gives back is journaled."""
    return _VERBS[args["verb"]](tx, tx.runs.find(run_id), args)


def _hear(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """What people want by now, between two steps of an iteration."""
    return {"now": tx.now, **_inbox(tx, run)}


def _details(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """What belongs to the session's task besides its goal."""
    task = tx.graph.find(run.input["taskId"])
    if task is None:
        return {}
    return {"deliverables": list(task.desired_deliverables), "notes": list(task.notes)}


def _brief(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """An iteration begins: what its prompt is made of, taken at one moment."""
    heard = _inbox(tx, run)
    lost = _keep_claim(tx, run, args["lease"])
    taken = heard["wants"] is None and not lost
    tasks = _tasks(tx, run.input["taskId"])
    if taken:
        counts = {"done": tasks["done"], "all": tasks["all"], "ready": len(tasks["ready"])}
        told = {"iteration": args["iteration"], "countdown": args["countdown"], "tasks": counts}
        tx.append("session_iteration", run.run_id, told)
    return {
        "now": tx.now,
        **heard,
        "lost": None,
        **lost,
        "held": _told(tx.sessions.drain(run.run_id)) if taken else [],
        **(_continued(tx, run) if taken else {"sentBack": ""}),
        "nonce": new_word(),
        "tasks": tasks,
        "notes": _notes(tx, run),
        "details": _details(tx, run, args),
    }


def _continued(tx: Transaction, run: Run) -> dict[str, Any]:
    """Why the work was sent back, or what a person was asked about it: for the first prompt of the
    session that goes on with it."""
    continues = tx.runs.value(run.run_id, CONTINUES)
    if continues is None:
        return {"sentBack": ""}
    tx.runs.set_value(run.run_id, CONTINUES, None)
    if isinstance(continues, str):
        return {"sentBack": continues, "asked": True}
    return {"sentBack": story(tx, tx.graph.task(run.input["taskId"]).id)}


def _drain(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """What is held, to be delivered now; of a session that is done, what people said as well."""
    return {
        "held": _told(tx.sessions.drain(run.run_id)),
        "messages": _messages(tx, run) if args.get("messages") else [],
        "nonce": new_word(),
    }


def _close(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """An iteration is over; its task may be out of the session's hands by now."""
    heard = _inbox(tx, run)
    spent = spending.cost_of(spending.turns_of_run(tx, run))
    used = _used(tx, run, spent)
    tx.append("session_iteration_ended", run.run_id, {**args["ended"], **used})
    lost = _lost(tx, run, is_promised=args["ended"].get("decision") == "complete")
    checkpoint = None
    if args.get("checkpoint"):
        checkpoint = _checkpoint(tx, run, args["checkpoint"])
    return {
        "now": tx.now,
        **heard,
        **lost,
        "checkpoint": checkpoint,
        "spent": {"usd": spent.usd or 0.0, "tokens": spent.tokens},
        "used": used,
    }


def _used(tx: Transaction, run: Run, spent: Cost) -> dict[str, float]:
    """What an iteration cost, of all that the session and its hooks have spent until now."""
    before = tx.log.events(node_id=run.run_id, types=("session_iteration_ended",))
    usd = (spent.usd or 0.0) - sum(event.data["usd"] for event in before)
    tokens = spent.tokens - sum(event.data["tokens"] for event in before)
    return {"usd": max(round(usd, 6), 0.0), "tokens": max(tokens, 0)}


def _checkpoint(tx: Transaction, run: Run, data: dict[str, Any]) -> str | None:
    try:
        with tx.nested():
            return checkpoints.create_from(tx, run.input["taskId"], data).id
    except HooklineError as problem:  # a hook's data may be anything; the loop goes on
        tx.append("run_log", run.run_id, {"message": f"no checkpoint: {problem.message}"})
        return None


def _wait(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """The session waits: the model takes no more for now, or a person wants a pause."""
    if args.get("paused"):
        tx.runs.set_value(run.run_id, STANDING, PAUSED)
        planned = {"planned": True} if args.get("planned") else {}
        tx.append("session_paused", run.run_id, {"used": args.get("used", {}), **planned})
    else:
        details = {name: args[name] for name in ("reason", "until", "seconds")}
        tx.append("session_waits", run.run_id, details)
        _keep_claim(tx, run, args["seconds"] + LEASE_MARGIN)
    return {"now": tx.now}


def _go_on(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """The session goes on after a wait, a pause or an ending; its task is taken again."""
    lost = None
    if args.get("again"):
        try:
            with tx.nested():
                _refuse_second(tx, run.input["taskId"], run.run_id)
                _take_task(tx, run.input["taskId"], run.input.get("agent") or "agent", 3600.0)
        except HooklineError as problem:
            lost = problem.message
    if lost is None:
        tx.runs.set_value(run.run_id, STANDING, LIVE)
        tx.append("session_resumed", run.run_id, {})
    return {"now": tx.now, "lost": lost}


def _end(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """The session is over, or over for now: its task is completed, blocked or given back."""
    instead = _instead(tx, run, args["ended"])
    ended = {**args["ended"], **instead}
    tx.runs.set_value(run.run_id, STANDING, ended["outcome"])
    task = tx.graph.find(run.input["taskId"])
    is_settled = task is None or task.state not in task_states.OPEN
    error = _finish_task(tx, run, task, ended) if task is not None else None
    if task is not None:
        registrations.clear(tx, task.id)
    more: dict[str, Any] = {"taskError": error} if error else {}
    if is_settled:  # nobody can go on with it
        more["taskSettled"] = True
    unheard = args.get("unheard", 0) + len(_messages(tx, run)) if not ended["resumable"] else 0
    if unheard:
        more["unheard"] = unheard
    tx.append("session_ended", run.run_id, {**ended, **more})
    return {"now": tx.now, "instead": instead}


def _instead(tx: Transaction, run: Run, ended: dict[str, Any]) -> dict[str, Any]:
    """How a session ends that is done, if its task was taken from it at the last moment."""
    lost = _lost(tx, run, is_promised=True) if ended["outcome"] == COMPLETED else {}
    if not lost:
        return {}
    outcome, reason = lost["outcome"], lost["lost"]
    return {
        "outcome": outcome,
        "reason": reason,
        "message": reason,
        "resumable": outcome != FAILED,
    }


def break_off(tx: Transaction, run: Run, outcome: str, reason: str) -> None:
    """A run is over without an ending of its own: if it is a session, its task is let go."""
    if run.flow != FLOW or tx.runs.value(run.run_id, STANDING) not in (LIVE, PAUSED):
        return
    tx.runs.set_value(run.run_id, STANDING, outcome)
    task = tx.graph.find(run.input["taskId"])
    if task is None:
        return
    turns = (run.state or {}).get("turns", 0)
    ended = {"outcome": outcome, "reason": reason, "message": reason, "turns": turns}
    error = _finish_task(tx, run, task, ended)
    registrations.clear(tx, task.id)
    if error:
        tx.append("run_log", run.run_id, {"message": f"{task.id} is not free: {error}"})


def _finish_task(tx: Transaction, run: Run, task: Task, ended: dict[str, Any]) -> str | None:
    if task.state in SETTLED or task.claim is None or task.claim.agent != _agent(run):
        return None
    holder = Holder(task.claim.agent, task.claim.token)
    used = (task.turns_used or 0) + ended["turns"]
    try:
        with tx.nested():
            verbs.update(tx, task.id, {"turnsUsed": used}, holder=holder)
            if ended["outcome"] == COMPLETED and (changed := changed_in(tx, run)):
                _leave_to_person(tx, run, task, control_told(changed), holder)
            elif ended["outcome"] == COMPLETED and run.input.get("branch"):
                verbs.submit(tx, task.id, result=ended["reason"][:2000], holder=holder)
                _submit(tx, run, task, ended)
            elif ended["outcome"] == COMPLETED:
                verbs.complete(tx, task.id, result=ended["reason"][:2000], holder=holder)
            elif ended["outcome"] == ESCALATED:
                verbs.block(tx, task.id, reason=ended["reason"][:2000], holder=holder)
            elif ended["outcome"] in (LIMIT, FAILED, CANCELLED) and run.input.get("branch"):
                # A worker must not take it again and again; a person looks first.
                why = f"{told_as(ended['outcome'], ended['reason'])}: {ended['message']}"
                verbs.send_back(tx, task.id, reason=why[:2000])
            else:
                claims.release(tx, task.id, reason=f"session {ended['outcome']}", holder=holder)
    except HooklineError as problem:
        return problem.message
    return None


def _leave_to_person(tx: Transaction, run: Run, task: Task, why: str, holder: Holder) -> None:
    """Work that is done, and that nothing more happens to before a person has looked."""
    if run.input.get("branch"):
        verbs.send_back(tx, task.id, reason=why)
    else:
        verbs.block(tx, task.id, reason=why, holder=holder)


def _submit(tx: Transaction, run: Run, task: Task, ended: dict[str, Any]) -> None:
    """Under a pipeline, what an agent calls done goes to its gates."""
    given = run.input
    work = Submission(
        task_id=task.id,
        worktree=given["worktree"],
        branch=given["branch"],
        base=given["base"],
        agent=given.get("agent"),
        task_type=task.type,
        conversation=ended.get("conversation"),
        turns=(task.turns_used or 0) + ended["turns"],
        skip_pr=bool(given.get("skipPr")),
    )
    gate_verbs.start(tx, SUBMIT, work, {gating.PINS: run.pins.get(gating.PINS, {})})


_VERBS: dict[str, Callable[[Transaction, Run, dict[str, Any]], Any]] = {
    "brief": _brief,
    "details": _details,
    "hear": _hear,
    "drain": _drain,
    "close": _close,
    "wait": _wait,
    "go_on": _go_on,
    "end": _end,
}


# What they share


def _refuse_second(tx: Transaction, task: str, but: str | None = None) -> None:
    """A task has one session at a time, although an agent may take its own claim again."""
    task = tx.graph.task(task).id
    run = session_on(tx, task, but)
    if run is not None:
        raise SessionBusy(
            f"session '{run.input['name']}' works on {task} already", help=_way_on(tx, run)
        )


def session_on(view: View, task_id: str, but: str | None = None) -> Run | None:
    """The session that works on a task, or pauses there."""
    for run_id in view.sessions.live():
        if run_id != but and view.runs.value(run_id, STANDING) in (LIVE, PAUSED):
            run = view.runs.find(run_id)
            if run.input["taskId"] == task_id:
                return run
    return None


def _way_on(tx: Transaction, run: Run) -> str:
    """What a person can do about a session that is there already."""
    name = shlex.quote(run.input["name"])
    holder, _, until = tx.runs.holder(run.run_id)
    if holder is not None and until >= seconds(tx.now):
        return f"watch it: `hookline session attach {name}`"
    more = ""
    if tx.runs.value(run.run_id, STANDING) == LIMIT:
        ended = tx.log.events(node_id=run.run_id, types=("session_ended",))[-1].data
        more = raised(ended["reason"], ended.get("used", {}).get(ended["reason"]))
    return f"go on with it: `hookline run --resume --name {name}{more}`"


def _take_task(tx: Transaction, identifier: str, agent: str, lease: float) -> None:
    task = tx.graph.task(identifier)
    if task.state == BLOCKED:
        verbs.unblock(tx, task.id)
    if task.claim is not None and task.claim.agent == agent and task.state == "active":
        return
    lease = min(lease, claims.MAX_LEASE)
    if task.claim is not None and task.claim.agent == agent:
        claim = claims.renew(tx, task.id, task.claim.token, lease)
    else:
        claim = claims.claim(tx, task.id, agent, lease)
    verbs.start(tx, task.id, holder=Holder(agent, claim.token))


def _keep_claim(tx: Transaction, run: Run, lease: float) -> dict[str, str]:
    """Hold the session's task for longer; if that cannot be, how the session ends, and why."""
    lost = _lost(tx, run)
    task = tx.graph.find(run.input["taskId"])
    if lost or task is None or task.claim is None:
        return lost
    try:
        claims.renew(tx, task.id, task.claim.token, min(lease, claims.MAX_LEASE))
    except (ClaimRefused, StaleClaim) as problem:
        return {"outcome": STOPPED, "lost": problem.message}
    return {}


def _lost(tx: Transaction, run: Run, *, is_promised: bool = False) -> dict[str, str]:
    """How a session ends whose task is no longer its own, and why; empty if it is.

    A task that was completed or submitted already does not contradict an agent that says so.
    """
    task = tx.graph.find(run.input["taskId"])
    outcome = STOPPED
    if task is None:
        why = f"{run.input['taskId']} was deleted"
    elif is_promised and task.state in (task_states.COMPLETED, task_states.SUBMITTED):
        return {}
    elif task.state == BLOCKED:
        outcome, why = ESCALATED, task.block_reason or f"{task.id} is blocked"
    elif task.state == task_states.FAILED:
        outcome, why = FAILED, f"{task.id} failed: {task.result or 'no reason was given'}"
    elif task.state in SETTLED:
        why = f"{task.id} is {task.state}"
    elif task.claim is None or task.claim.agent != _agent(run):
        why = f"{task.id} is no longer claimed by {_agent(run)}"
    else:
        return {}
    return {"outcome": outcome, "lost": why}


def _agent(run: Run) -> str:
    return run.input.get("agent") or "agent"


def _inbox(tx: Transaction, run: Run) -> dict[str, Any]:
    """What a person wants by now: to stop or to pause, other limits, and what they have to say."""
    wants: str | None = None
    why: str | None = None
    messages: list[str] = []
    limits: dict[str, Any] = {}
    for seq, name, value in tx.runs.signals(run):
        if name != SIGNAL:
            continue
        tx.runs.consume_signal(seq)
        if value["verb"] == "message":
            messages.append(value["text"])
        elif value["verb"] in ("stop", "pause"):
            wants = "stop" if "stop" in (wants, value["verb"]) else "pause"
            why = why or value.get("reason")
        elif value["verb"] == "resume":  # of a session that was killed, and so does not wait for it
            limits |= value.get("limits") or {}
    return {"wants": wants, "why": why, "messages": messages, "limits": limits}


def _messages(tx: Transaction, run: Run) -> list[str]:
    """What people have said by now; whatever else they want stays where it is."""
    found = [
        (seq, value["text"])
        for seq, name, value in tx.runs.signals(run)
        if name == SIGNAL and value["verb"] == "message"
    ]
    for seq, _ in found:
        tx.runs.consume_signal(seq)
    return [text for _, text in found]


def _told(held: list[HeldOutput]) -> list[dict[str, Any]]:
    return [{"hook": each.hook, "point": each.point, "text": each.text} for each in held]


def tasks_below(view: View, task_id: str) -> list[Task]:
    """The tasks of a session: everything that its own task spawned, in order."""
    found: dict[str, Task] = {}
    waiting = [task_id]
    while waiting:
        for edge in view.graph.edges_to(waiting.pop(), "spawned_by"):
            if edge.from_id not in found:
                found[edge.from_id] = view.graph.task(edge.from_id)
                waiting.append(edge.from_id)
    return sorted(found.values(), key=lambda task: (task.priority, len(task.id), task.id))


def _tasks(tx: Transaction, task_id: str) -> dict[str, Any]:
    below = [task for task in tasks_below(tx, task_id) if task.state != "cancelled"]
    ready = [task for task in below if task.state in ("ready", "active")]
    waiting = [task for task in below if task.state in task_states.OPEN and task not in ready]
    return {
        "done": sum(task.state in SETTLED for task in below),
        "all": len(below),
        "ready": [_shown(tx, task) for task in ready[:READY_SHOWN]],
        "waiting": [_shown(tx, task) for task in waiting[:READY_SHOWN]],
    }


def _shown(tx: Transaction, task: Task) -> dict[str, Any]:
    needed = [edge.to_id for edge in tx.graph.edges_from(task.id, task_states.DEPENDS_ON)]
    waits = [each for each in needed if tx.graph.task(each).state != task_states.COMPLETED]
    return {"id": task.id, "goal": task.goal, "state": task.state, "waitsFor": waits}


def _notes(tx: Transaction, run: Run) -> list[dict[str, Any]]:
    """Notes on the session's tasks, of its sessions, and of people for all; the newest are kept."""
    task_id = run.input["taskId"]
    tasks = {task_id, *(task.id for task in tasks_below(tx, task_id))}
    sessions = {each.run_id for each in tx.runs.of_flow(FLOW) if each.input["taskId"] == task_id}

    def belongs(event: Event) -> bool:
        by = event.metadata.get("run")
        is_for_all = event.node_id == SYSTEM_NODE and by is None
        return event.node_id in tasks or by in sessions or is_for_all

    return [
        {"kind": event.data["kind"], "text": event.data["text"]}
        for event in tx.log.events(types=("note_added",))
        if belongs(event)
    ][-NOTES_SHOWN:]
