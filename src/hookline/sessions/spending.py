"""What agents' turns cost: one record for every turn of every agent, and sums of them.

`LocalAgents` has each turn recorded; everything that reports or limits a cost reads these records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.events import INSIDE, SYSTEM_NODE, TURN, Event
from hookline.domain.runs.model import JournalEffect, Run, UnknownRun, run_of_place
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import raised, used_up
from hookline.domain.sessions.turns import (
    FIX,
    FLOW,
    GATEKEEPER,
    HOOK,
    IMPLEMENTER,
    PLANNER,
    Purpose,
    TurnCost,
    Unpaid,
)
from hookline.domain.timestamps import seconds
from hookline.domain.work.submissions import LIMITS, MERGE, SUBMIT
from hookline.sessions.state import PINS
from hookline.tasks.task_runs import beginning, live_sessions, runs_on

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hookline.domain.work.repository import Span
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.ports.store import Transaction, View


# How many runs and hooks, each started by the next, are followed up to their session.
MOST_LINKS = 64
# An agent in one of these roles cannot change anything.
_READ_ONLY = frozenset({GATEKEEPER, HOOK})


class Cost(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """What some turns cost together; `usd` is None where no agent reported a price.

    `computed` is how much of it comes from configured prices. `unfinished` is how many of the turns
    are under way or were interrupted: those count as far as their agents reported.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    computed: float = 0.0
    seconds: float = 0.0
    unfinished: int = 0

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.input_tokens + self.output_tokens


class RoleCost(Cost, rename="camel", kw_only=True, frozen=True):
    """What one agent cost in one role."""

    role: str
    agent: str
    model: str | None = None


class WholeCost(Cost, rename="camel", kw_only=True, frozen=True):
    """What some turns cost together, and each role's part of it."""

    roles: list[RoleCost] = []


# Recording


def purpose_of(run: Run, effect: JournalEffect) -> Purpose:
    """What a run's turn is for."""
    session = effect.args.get("session") or {}
    if run.flow == sessions.FLOW:
        role = PLANNER if session.get("iteration") == 0 else IMPLEMENTER
    else:
        role = FIX if run.flow in (SUBMIT, MERGE) else FLOW
    task_id = session.get("task") or run.input.get("taskId")
    call = f"{run.run_id}/{run.chapter}/{effect.effect_id}"
    return Purpose(role=role, task_id=task_id, call=call)


def record_turn(tx: Transaction, purpose: Purpose, cost: TurnCost) -> None:
    """Record what a turn has used so far, with its task or run.

    A turn that a program inside a session started counts for the session's task.
    """
    task, payer = purpose.task_id, session_behind(tx, purpose, tx.metadata)
    if payer is not None:
        own = payer.run.input["taskId"]
        task = own if payer.inside and not payer.in_pipeline else task or own
        if purpose.run_id != payer.run.run_id:
            cost = msgspec.structs.replace(cost, session=payer.run.run_id)
    tx.append(TURN, task or purpose.run_id or SYSTEM_NODE, msgspec.to_builtins(cost))


# Who pays


class Payer(NamedTuple):
    """The session that led to a turn.

    `inside`: through a program that ran in it, such as its agent, and not the session itself.
    `in_pipeline`: by submitting or merging work, which has its own limits.
    """

    run: Run
    inside: bool
    in_pipeline: bool


def session_behind(view: View, purpose: Purpose, here: Mapping[str, Any]) -> Payer | None:
    """The session that led to a turn: through an event, a run, or this process's environment.

    `here` is the metadata of events that this process causes.
    """
    asked = {"run": purpose.run_id} if purpose.run_id else here
    found = _metadata(view, purpose.cause) or asked
    inside = in_pipeline = False
    for _ in range(MOST_LINKS):
        inside = inside or found.get(INSIDE) is True
        run = _run(view, found.get("run")) or _named(view, found.get("session"))
        if run is not None and run.flow == sessions.FLOW:
            return Payer(run, inside, in_pipeline)
        before = _metadata(view, found.get("cause"))
        if run is not None:
            in_pipeline = in_pipeline or run.flow in (SUBMIT, MERGE)
            before = beginning(view, run.run_id).metadata
        # A completed session submits its work to the gates, which are not below it.
        if before is None or (in_pipeline and not before.get(INSIDE)):
            return None
        found = before
    return None


def refusal(
    view: View, purpose: Purpose, here: Mapping[str, Any], spent: str | None = None
) -> Unpaid | None:
    """Why a turn is not begun: all turns of a task share its budget, whoever takes them.

    `spent` says whether the worker has money left.
    """
    payer = session_behind(view, purpose, here)
    own = payer.run.input["taskId"] if payer is not None else None
    is_inside = payer is not None and payer.inside and not payer.in_pipeline
    task = own if is_inside else purpose.task_id or own
    found = None
    if payer is not None and not payer.in_pipeline:
        found = budget_used_up(view, payer.run)
    if found is None and task:
        found = task_spent(view, task)
    return found or (Unpaid(spent) if spent and task else None)


def budget_used_up(view: View, run: Run) -> Unpaid | None:
    """Why a session has no money or no tokens left; None if it has."""
    name = run.input["name"]
    what = f"the budget of session '{name}' is used up"
    return _used_up(limits_of(run), _turns_for(view, run), what)


def task_spent(view: View, task_id: str) -> Unpaid | None:
    """Why nothing is left of what a task may cost: what its last session and people allow."""
    sessions_of = list(runs_on(view, task_id, sessions.FLOW))
    limits = limits_of(sessions_of[-1]) if sessions_of else {}
    for run in runs_on(view, task_id, SUBMIT, MERGE):
        limits |= view.runs.value(run.run_id, LIMITS) or {}
    return _used_up(limits, turns_of(view, task_id), f"the budget of {task_id} is spent")


def limits_of(run: Run) -> dict[str, Any]:
    """What a session may use: as configured when it began, as given, and as raised since."""
    plan = run.pins.get(PINS, {}).get("limits", {})
    return {**plan, **run.input.get("limits", {}), **(run.state or {}).get("limits", {})}


def _used_up(limits: Mapping[str, Any], turns: Sequence[TurnCost], what: str) -> Unpaid | None:
    money = {name: limits.get(name) for name in ("usd", "tokens")}
    if not any(money.values()):
        return None
    spent = cost_of(turns)
    used = {"usd": spent.usd or 0.0, "tokens": spent.tokens}
    if (found := used_up(money, used)) is None:
        return None
    option = raised(found.reason, used[found.reason])
    return Unpaid(f"{what}: {found.message}", found.reason, option)


def _metadata(view: View, seq: Any) -> Mapping[str, Any] | None:
    event = view.log.find(seq) if isinstance(seq, int) else None
    return event.metadata if event is not None else None


def _named(view: View, name: Any) -> Run | None:
    """The session of a name, if that is all a hook's program knows."""
    runs = live_sessions(view) if name else ()
    return next((run for run in runs if run.input.get("name") == name), None)


def _run(view: View, run_id: Any) -> Run | None:
    if not isinstance(run_id, str):
        return None
    try:
        return view.runs.find(run_id)
    except UnknownRun:  # a program can put any name in its environment
        return None


# Reading


def turns_of(view: View, task_id: str) -> list[TurnCost]:
    """Every turn that was taken for a task, the first one first."""
    return _last_of_each(view.log.events(node_id=task_id, types=(TURN,)))


def turn_spans(view: View, task_id: str) -> list[Span]:
    """When agents that may change files took turns for a task."""
    spans = []
    for event in view.log.events(node_id=task_id, types=(TURN,)):
        cost = recorded_cost(event)
        if cost is not None and cost.role not in _READ_ONLY:
            ended = seconds(event.timestamp)
            spans.append((ended - cost.seconds, ended))
    return spans


def authors(view: View, task_id: str) -> frozenset[str]:
    """Every agent that may have changed the work in a turn, or that claimed the task itself.

    No turn records what an agent outside sessions does to a task that it claimed.
    """
    took = {each.agent for each in turns_of(view, task_id) if each.role not in _READ_ONLY}
    claims = view.log.events(node_id=task_id, types=("task_claimed",))
    took_it = ((event.data["agent"], event.metadata.get("triggeredBy")) for event in claims)
    own = {str(agent) for agent, by in took_it if agent == by}
    return frozenset(took | own)


def turns_of_run(view: View, run: Run) -> list[TurnCost]:
    """Every turn that a run asked for or led to: itself, by its hooks, by programs inside it."""
    events = view.log.events(types=(TURN,), after=beginning(view, run.run_id).seq)
    wanted = run.run_id
    return [
        each for each in _last_of_each(events) if wanted in (run_of_place(each.call), each.session)
    ]


def _turns_for(view: View, run: Run) -> list[TurnCost]:
    """Every turn that counts for a session: its own, and all others for its task."""
    both = [*turns_of(view, run.input["taskId"]), *turns_of_run(view, run)]
    return list({each.turn: each for each in both}.values())


def spent_for(view: View, run: Run) -> Cost:
    """What was spent of a session's budget."""
    return cost_of(_turns_for(view, run))


def asked_by(verdict: GateVerdict, turns: Iterable[TurnCost]) -> list[TurnCost]:
    """The turns that a gate asked for before it said this."""
    asked = verdict.call, verdict.hook
    return [each for each in turns if (each.call, each.hook) == asked]


def cost_of(turns: Sequence[TurnCost]) -> WholeCost:
    """What turns cost together, and each agent in each role, in the order of their first turns."""
    found: dict[tuple[str, str, str | None], list[TurnCost]] = {}
    for each in turns:
        found.setdefault((each.role, each.agent, each.model), []).append(each)
    roles = [
        RoleCost(role=role, agent=agent, model=model, **_sums(each))
        for (role, agent, model), each in found.items()
    ]
    return WholeCost(roles=roles, **_sums(turns))


class Spending:
    """The turns for some tasks after a position in the log, as it grows."""

    def __init__(self, tasks: Collection[str], after: int) -> None:
        self._tasks, self._place = tasks, after
        # By turn: its task and that of the session that led to it, and what it cost.
        self._found: dict[str, tuple[tuple[str, ...], TurnCost]] = {}

    def turns(self, view: View, task_id: str | None = None) -> list[TurnCost]:
        """All turns so far, or those for one of the tasks."""
        for event in view.log.events(types=(TURN,), after=self._place):
            self._place = event.seq
            if (cost := recorded_cost(event)) is not None:
                payer = _run(view, cost.session)
                behind = (payer.input.get("taskId", ""),) if payer is not None else ()
                self._found[cost.turn] = ((event.node_id, *behind), cost)
        wanted = self._tasks if task_id is None else (task_id,)
        found = self._found.values()
        return [cost for tasks, cost in found if any(task in wanted for task in tasks)]

    def usd(self, view: View, task_id: str | None = None) -> float:
        """The money spent so far, on all of the tasks or on one."""
        return cost_of(self.turns(view, task_id)).usd or 0.0


def recorded_cost(event: Event) -> TurnCost | None:
    """The record of a turn; None for one that Hookline cannot have written."""
    try:
        return typed.convert(event.data, TurnCost)
    except msgspec.ValidationError:
        return None


def _last_of_each(events: Iterable[Event]) -> list[TurnCost]:
    costs = (recorded_cost(event) for event in events)
    return list({cost.turn: cost for cost in costs if cost is not None}.values())


def _sums(turns: Sequence[TurnCost]) -> dict[str, Any]:
    prices = [each.usd for each in turns if each.usd is not None]
    return {
        "turns": len(turns),
        "input_tokens": sum(each.input_tokens for each in turns),
        "output_tokens": sum(each.output_tokens for each in turns),
        "usd": round(sum(prices), 6) if prices else None,
        "computed": round(sum(each.usd or 0.0 for each in turns if each.computed), 6),
        "seconds": round(sum(each.seconds for each in turns), 3),
        "unfinished": sum(each.unfinished for each in turns),
    }
