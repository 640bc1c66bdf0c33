"""Starting a session: its task is claimed, and its run waits to be advanced."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.sessions.limits import raised
from hookline.domain.sessions.model import (
    FLOW,
    LIMIT,
    LIVE,
    PAUSED,
    STANDING,
    SessionBusy,
    SessionInput,
)
from hookline.domain.tasks import BLOCKED
from hookline.flows import journal
from hookline.sessions.told.continuation import asked, was_sent_back
from hookline.tasks import claims, verbs
from hookline.tasks.task_runs import is_leased, live_sessions
from hookline.tasks.verbs import Holder

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Transaction, View

# Set in a run until its agent has been told why the work was sent back.
CONTINUES = "hookline.continues"


def start(
    tx: Transaction, given: SessionInput, *, code_digest: str, pins: dict[str, Any], lease: float
) -> str:
    """Start a session on a task: the task is claimed and started, the run waits to be advanced."""
    for run in live_sessions(tx):
        if run.input.get("name") == given.name:
            help = f"{_way_on(tx, run)}; or choose another name"
            raise SessionBusy(f"there is already a session '{given.name}'", help=help)
    agent = given.agent or "agent"
    refuse_second(tx, given.task_id)
    task_id = tx.graph.task(given.task_id).id
    continues = was_sent_back(tx, task_id) or asked(tx, task_id)
    take_task(tx, given.task_id, agent, lease)
    stored = msgspec.to_builtins(given)
    run_id = journal.start(tx, FLOW, stored, {}, code_digest=code_digest, pins=pins)
    tx.runs.set_value(run_id, STANDING, LIVE)
    if continues:
        tx.runs.set_value(run_id, CONTINUES, continues)
    tx.append("session_started", run_id, stored)
    return run_id


def refuse_second(tx: Transaction, task: str, but: str | None = None) -> None:
    """Refuse a second session on a task, although an agent may renew its own claim."""
    task = tx.graph.task(task).id
    run = session_on(tx, task, but)
    if run is not None:
        why = f"session '{run.input['name']}' is already working on {task}"
        raise SessionBusy(why, help=_way_on(tx, run))


def session_on(view: View, task_id: str, but: str | None = None) -> Run | None:
    """The session that works on a task, or is paused on it."""
    for run in live_sessions(view):
        if run.input["taskId"] == task_id and run.run_id != but and is_busy(view, run):
            return run
    return None


def is_busy(view: View, run: Run) -> bool:
    """Whether a session works on its task, or is paused on it."""
    return view.runs.value(run.run_id, STANDING) in (LIVE, PAUSED)


def take_task(tx: Transaction, identifier: str, agent: str, lease: float) -> None:
    """Claim and start a task for a session, unless its agent works on it already."""
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


def _way_on(tx: Transaction, run: Run) -> str:
    """What a person can do about a session that already exists."""
    name = shlex.quote(run.input["name"])
    if is_leased(tx, run.run_id, tx.now):
        return f"watch it: `hookline session attach {name}`"
    more = ""
    if tx.runs.value(run.run_id, STANDING) == LIMIT:
        ended = tx.log.events(node_id=run.run_id, types=("session_ended",))[-1].data
        more = raised(ended["reason"], ended.get("used", {}).get(ended["reason"]))
    return f"resume it: `hookline run --resume --name {name}{more}`"
