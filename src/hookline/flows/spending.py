"""What turns of agents cost: one record for every turn of every agent, and sums of them.

`LocalAgents` has each turn recorded, whoever asks for it; everything that tells or limits a cost
reads these records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import sessions
from hookline.domain.events import SYSTEM_NODE, TURN
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.turns import FIX, FLOW, IMPLEMENTER, PLANNER, Purpose, TurnCost

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import Transaction, View


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
    """Write down what a turn has used until now, with the task or the run that it is for."""
    tx.append(TURN, purpose.task_id or _run_of(cost) or SYSTEM_NODE, msgspec.to_builtins(cost))


# Reading


def turns_of(view: View, task_id: str) -> list[TurnCost]:
    """Every turn that was taken for a task, the first one first."""
    return _last_of_each(view.log.events(node_id=task_id, types=(TURN,)))


def turns_of_run(view: View, run: Run) -> list[TurnCost]:
    """Every turn that a run asked for, itself or by its hooks."""
    node = run.input.get("taskId") or run.run_id
    return [each for each in turns_of(view, node) if _run_of(each) == run.run_id]


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
        self._found: dict[str, tuple[str, TurnCost]] = {}  # by turn: its task, what it cost

    def turns(self, view: View, task_id: str | None = None) -> list[TurnCost]:
        """All turns until now, or those for one of the tasks."""
        for event in view.log.events(types=(TURN,), after=self._place):
            self._place = event.seq
            if (cost := _cost(event)) is not None:
                self._found[cost.turn] = (event.node_id, cost)
        wanted = self._tasks if task_id is None else (task_id,)
        return [cost for task, cost in self._found.values() if task in wanted]

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


def _run_of(cost: TurnCost) -> str | None:
    run = cost.call.partition("/")[0]
    return run if run[:2] == "R-" else None


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
