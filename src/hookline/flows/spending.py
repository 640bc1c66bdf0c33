"""What turns of agents cost: one record for every turn of every agent, and sums of them.

`LocalAgents` has each turn recorded, whoever asks for it; everything that tells or limits a cost
reads these records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain import sessions
from hookline.domain.events import INSIDE, SYSTEM_NODE, TURN
from hookline.domain.limits import used_up
from hookline.domain.runs import UnknownRun
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.turns import FIX, FLOW, IMPLEMENTER, PLANNER, Purpose, TurnCost, run_of
from hookline.flows.session_state import PINS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import Transaction, View


# So many runs and hooks, one started by the other, are followed to the session behind them.
MOST_LINKS = 64


class Cost(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """What some turns cost together; `usd` is None where no agent told a price.

    `unfinished` is how many of them are under way or were cut short: those count as far as their
    agents told.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
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
    """What a turn is for that a run asks for."""
    session = effect.args.get("session") or {}
    if run.flow == sessions.FLOW:
        role = PLANNER if session.get("iteration") == 0 else IMPLEMENTER
    else:
        role = FIX if run.flow in (SUBMIT, MERGE) else FLOW
    return Purpose(
        role=role,
        task_id=session.get("task") or run.input.get("taskId"),
        call=f"{run.run_id}/{run.chapter}/{effect.effect_id}",
    )


def record_turn(tx: Transaction, purpose: Purpose, cost: TurnCost) -> None:
    """Write down what a turn has used until now, with the task or the run that it is for.

    What a program inside a session started is for the task of that session.
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

    `inside`: a program that ran inside of it did, such as its agent, and not the session's own
    course. `in_pipeline`: by submitting or merging work, which has limits of its own.
    """

    run: Run
    inside: bool
    in_pipeline: bool


def session_behind(view: View, purpose: Purpose, here: Mapping[str, Any]) -> Payer | None:
    """The session that led to a turn: by an event, by a run, or as what this process runs in.

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
            before = view.log.events(node_id=run.run_id, limit=1)[0].metadata
        # A session whose work is done hands it on to the gates, which are not below it.
        if before is None or (in_pipeline and not before.get(INSIDE)):
            return None
        found = before
    return None


def refusal(
    view: View, purpose: Purpose, here: Mapping[str, Any], spent: str | None = None
) -> str | None:
    """Why a turn is not taken: what is started inside a session ends with its budget.

    `spent` says that its worker has no money left.
    """
    payer = session_behind(view, purpose, here)
    if payer is None or not payer.inside or payer.in_pipeline:
        return None
    return budget_used_up(view, payer.run) or spent


def budget_used_up(view: View, run: Run) -> str | None:
    """That a session has no money or no tokens left, in words."""
    plan = run.pins.get(PINS, {}).get("limits", {})
    limits = {**plan, **run.input.get("limits", {}), **(run.state or {}).get("limits", {})}
    money = {name: limits.get(name) for name in ("usd", "tokens")}
    if not any(money.values()):
        return None
    spent = cost_of(turns_of_run(view, run))
    limit = used_up(money, {"usd": spent.usd or 0.0, "tokens": spent.tokens})
    return (
        f"the budget of session '{run.input['name']}' is used up: {limit.message}"
        if limit
        else None
    )


def _metadata(view: View, seq: Any) -> Mapping[str, Any] | None:
    event = view.log.find(seq) if isinstance(seq, int) else None
    return event.metadata if event is not None else None


def _named(view: View, name: Any) -> Run | None:
    """The session of a name, where a hook's program knows no more."""
    runs = (view.runs.find(each) for each in view.sessions.live()) if name else ()
    return next((run for run in runs if run.input.get("name") == name), None)


def _run(view: View, run_id: Any) -> Run | None:
    if not isinstance(run_id, str):
        return None
    try:
        return view.runs.find(run_id)
    except UnknownRun:  # a program can name any in its environment
        return None


# Reading


def turns_of(view: View, task_id: str) -> list[TurnCost]:
    """Every turn that was taken for a task, the first one first."""
    return _last_of_each(view.log.events(node_id=task_id, types=(TURN,)))


def turns_of_run(view: View, run: Run) -> list[TurnCost]:
    """Every turn that a run asked for or led to: itself, by its hooks, by programs inside it."""
    began = next(iter(view.log.events(node_id=run.run_id, limit=1)), None)
    events = view.log.events(types=(TURN,), after=began.seq if began else 0)
    wanted = run.run_id
    return [each for each in _last_of_each(events) if wanted in (run_of(each.call), each.session)]


def asked_by(verdict: Verdict, turns: Iterable[TurnCost]) -> list[TurnCost]:
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
    """The turns that are taken for some tasks after a place in the log, as it grows."""

    def __init__(self, tasks: Collection[str], after: int) -> None:
        self._tasks = tasks
        self._place = after
        # By turn: its task and that of the session that led to it, and what it cost.
        self._found: dict[str, tuple[tuple[str, ...], TurnCost]] = {}

    def turns(self, view: View, task_id: str | None = None) -> list[TurnCost]:
        """All turns until now, or those for one of the tasks."""
        for event in view.log.events(types=(TURN,), after=self._place):
            self._place = event.seq
            if (cost := _cost(event)) is not None:
                payer = _run(view, cost.session)
                behind = (payer.input.get("taskId", ""),) if payer is not None else ()
                self._found[cost.turn] = ((event.node_id, *behind), cost)
        wanted = self._tasks if task_id is None else (task_id,)
        found = self._found.values()
        return [cost for tasks, cost in found if any(task in wanted for task in tasks)]

    def usd(self, view: View, task_id: str | None = None) -> float:
        """The money that was spent until now, on all of the tasks or on one."""
        return cost_of(self.turns(view, task_id)).usd or 0.0


def _cost(event: Event) -> TurnCost | None:
    """The record of a turn; None for one that Hookline cannot have written."""
    try:
        return msgspec.convert(event.data, TurnCost)
    except msgspec.ValidationError:
        return None


def _last_of_each(events: Iterable[Event]) -> list[TurnCost]:
    costs = (_cost(event) for event in events)
    return list({cost.turn: cost for cost in costs if cost is not None}.values())


def _sums(turns: Sequence[TurnCost]) -> dict[str, Any]:
    prices = [each.usd for each in turns if each.usd is not None]
    return {
        "turns": len(turns),
        "input_tokens": sum(each.input_tokens for each in turns),
        "output_tokens": sum(each.output_tokens for each in turns),
        "usd": round(sum(prices), 6) if prices else None,
        "seconds": round(sum(each.seconds for each in turns), 3),
        "unfinished": sum(each.unfinished for each in turns),
    }
