"""Carries out one effect of a run on request: `hookline effect run`.

The process that advances the run carries it out; if there is none, this one does, with a lease.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.runs.model import PENDING, TERMINAL, WAITING, EffectResolved, Resolution
from hookline.errors import BadInput, IllegalTransition, NeedsPerson
from hookline.flows import journal
from hookline.flows.engine import Done, Engine, Parked
from hookline.flows.steering import Decision

if TYPE_CHECKING:
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import Transaction

LOOK_AGAIN = 1.0


class OneEffect:
    """Steering that chooses one effect and nothing else, then releases the run."""

    def __init__(self, effect_id: str) -> None:
        self._effect_id = effect_id

    async def begin(
        self, run: Run, iteration: int, pending: list[JournalEffect], running: frozenset[str]
    ) -> Decision:
        """The effect that was asked for."""
        return Decision((self._effect_id,))

    async def end(self, run: Run, iteration: int, status: str) -> bool:
        """No further iteration: others choose what runs next."""
        return False


async def run_effect(engine: Engine, run_id: str, effect_id: str) -> Resolution | None:
    """Carry out one effect and wait for its result; None if it waits for something itself."""
    check(engine, run_id, effect_id)
    asked = False
    while True:
        run, effect, is_held = _look(engine, run_id, effect_id)
        if effect.status != PENDING:
            value = journal.inside(effect.value, engine.blobs)
            return Resolution(effect.status, value, effect.error)
        if effect.waits:
            return None
        if run.status in TERMINAL:
            raise IllegalTransition(f"{run.run_id} is {run.status}")
        if is_held:
            if not asked:  # the changed row wakes the process that advances the run
                engine.change(lambda tx, run=run: tx.runs.attempts.choose(run, effect_id))
            asked = True
            await engine.wakeup.wait(LOOK_AGAIN)
        elif (wait := (effect.next_try or 0) - engine.store.time()) > 0:
            await asyncio.sleep(min(LOOK_AGAIN, wait))
        else:
            parked = await _carry_out(engine, run, effect_id)
            if parked is not None and parked.problem:
                raise NeedsPerson(f"{run.run_id} is parked: {parked.reason}")


def check(engine: Engine, run_id: str, effect_id: str) -> None:
    """Refuse what cannot be carried out."""
    run, effect, _ = _look(engine, run_id, effect_id)
    if effect.status != PENDING:
        raise EffectResolved(f"{run.run_id} has a result for '{effect_id}' already")
    if effect.kind in WAITING:
        message = f"'{effect_id}' is a {effect.kind}: it only waits, nothing can be run"
        raise BadInput(message, help=_remedy(run, effect))
    if run.status == runs.PAUSED:
        raise IllegalTransition(
            f"{run.run_id} is paused", help=f"`hookline flow resume {run.run_id}` resumes it"
        )


def _remedy(run: Run, effect: JournalEffect) -> str:
    if effect.kind == "breakpoint":
        answer = f"hookline answer {run.run_id} {effect.effect_id} yes"
        return f"a person answers it: `{answer}` (or: no)"
    if effect.kind == "signal":
        return f"send it: `hookline flow signal {run.run_id} {effect.args['name']}`"
    return f"end it now: `hookline effect post {run.run_id} {effect.effect_id} --status ok`"


def _look(engine: Engine, run_id: str, effect_id: str) -> tuple[Run, JournalEffect, bool]:
    """A run, one of its effects, and whether another process advances it."""
    with engine.store.read() as view:
        run = view.runs.find(run_id)
        return run, view.runs.effect(run, effect_id), engine.owner.is_elsewhere(view, run_id)


async def _carry_out(engine: Engine, run: Run, effect_id: str) -> Parked | None:
    """Advance the run by this one effect, and release it."""
    steering, engine.steering = engine.steering, OneEffect(effect_id)
    try:
        result = await engine.advance(run.run_id)
    finally:
        engine.steering = steering
    return _leave(engine, run.run_id, result)


async def ask_for_effects(engine: Engine, run_id: str) -> None:
    """Advance a new run to its first effects, and carry out none of them."""
    _leave(engine, run_id, await engine.advance(run_id, max_iterations=0))


def _leave(engine: Engine, run_id: str, result: Done | Parked) -> Parked | None:
    """Keep the run as due as it was: only our part of it has ended."""
    if isinstance(result, Done) or result.problem:
        return None if isinstance(result, Done) else result

    def leave(tx: Transaction) -> None:
        found = tx.runs.find(run_id)
        if found.status == runs.PARKED and tx.runs.leases.holder(run_id)[0] is None:
            journal.write(tx, "run_resumed", found.run_id, {})

    engine.change(leave)
    return result
