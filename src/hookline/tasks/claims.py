"""Claims: who works on a task, for how long, and the token that keeps stale holders out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain import tasks as t
from hookline.domain.tasks import Claim, Task, shown_state
from hookline.domain.timestamps import later
from hookline.errors import BadInput, ClaimRefused, IllegalTransition, NothingReady
from hookline.tasks.verbs import ANYONE, Holder, check_holder, check_text, optional_text, taken

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.store import Graph, Transaction

    # Whether an agent may take tasks of a type; None is a task without one.
    Allowed = Callable[[str, str | None], bool]

DEFAULT_LEASE = 15 * 60
MAX_LEASE = 7 * 24 * 3600
# How many ready tasks are searched for one that the agent may take.
LOOKED_AT = 10_000


def open_to_all(agent: str, task_type: str | None) -> bool:
    """The rule where no type of task is configured."""
    return True


def claim(
    tx: Transaction,
    identifier: str,
    agent: str,
    lease: float = DEFAULT_LEASE,
    *,
    allowed: Allowed = open_to_all,
) -> Claim:
    """Claim a task for an agent. If several try, one wins; the others get an error."""
    check_text("agent", agent)
    task = tx.graph.task(identifier)
    check_allowed(task, agent, allowed)
    if task.claim is not None:
        if task.claim.lease_until > tx.now:
            raise taken(task, task.claim)
        task = _release(tx, task, "lease expired")
    waits_for = task.depends_on if task.state == t.CREATED else ()
    if unmet := [each for each in waits_for if tx.graph.task(each).state not in t.SETTLED]:
        message = f"cannot claim {task.id}: it waits for {', '.join(unmet)}"
        raise IllegalTransition(message, help=f"`hookline why {unmet[0]}` shows its status")
    if task.state not in (t.READY, t.NEEDS_CONTINUATION):
        help = "`hookline task ready` shows what can be claimed"
        raise IllegalTransition(
            f"cannot claim {task.id}: it is {shown_state(task.state)}", help=help
        )
    token = tx.next_token()
    tx.append("task_claimed", task.id, {"agent": agent, "token": token})
    until = lease_end(tx.now, lease)
    tx.graph.set_lease(task.id, until)
    return Claim(agent, token, until)


def claim_next(
    tx: Transaction, agent: str, lease: float = DEFAULT_LEASE, *, allowed: Allowed = open_to_all
) -> Task:
    """Claim the best ready task that an agent may take."""
    best = best_ready(tx.graph, tx.now, agent, allowed)
    claim(tx, best.id, agent, lease, allowed=allowed)
    return tx.graph.task(best.id)


def best_ready(graph: Graph, now: str, agent: str, allowed: Allowed = open_to_all) -> Task:
    """The best ready task that an agent may take, or NothingReady."""
    limit, ready = 1, graph.ready(1, now)
    while True:
        for task in ready:
            if allowed(agent, task.type):
                return task
        if len(ready) < limit or limit >= LOOKED_AT:
            break
        limit = min(limit * 16, LOOKED_AT)
        ready = graph.ready(limit, now)
    if not ready:
        raise NothingReady
    raise NothingReady(
        f"none of the {len(ready)} tasks that are ready is of a type that {agent} may take",
        help="`hookline task ready` shows them; `task_types` says who may work on which type",
    )


def check_allowed(task: Task, agent: str, allowed: Allowed) -> None:
    """Refuse an agent that may not work on tasks of this type."""
    if not allowed(agent, task.type):
        raise ClaimRefused(
            f"{task.id} is of the type {task.type}, which {agent} may not work on",
            help=f"`task_types.{task.type}.agents.implementer` in hookline.yaml says who may",
        )


def renew(tx: Transaction, identifier: str, token: int, lease: float = DEFAULT_LEASE) -> Claim:
    """Renew a claim: its heartbeat."""
    task = tx.graph.task(identifier)
    check_holder(task, Holder(token=token), tx.now)
    assert task.claim is not None  # a current token has a claim
    until = lease_end(tx.now, lease)
    tx.graph.set_lease(task.id, until)
    return Claim(task.claim.agent, token, until)


def release(
    tx: Transaction, identifier: str, *, reason: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Give a task back; it is ready again, or waiting where a dependency is unmet."""
    task = tx.graph.task(identifier)
    check_holder(task, holder, tx.now)
    if task.claim is None and task.state != t.ACTIVE:
        raise IllegalTransition(f"cannot release {task.id}: it is not claimed")
    return _release(tx, task, optional_text("reason", reason))


def _release(tx: Transaction, task: Task, reason: str | None) -> Task:
    event_type = t.check_transition(task, "release")
    state = task.state
    if state == t.ACTIVE:
        state = t.READY if tx.graph.unmet(task.id) == 0 else t.CREATED
    agent = task.claim.agent if task.claim else None
    tx.append(event_type, task.id, {"agent": agent, "reason": reason, "state": state})
    return tx.graph.task(task.id)


def lease_end(now: str, seconds: float) -> str:
    """When a lease that begins now expires."""
    if not 0 < seconds <= MAX_LEASE:
        raise BadInput(f"a lease lasts up to {MAX_LEASE // 86400} days, not {seconds:g} s")
    return later(now, seconds)
