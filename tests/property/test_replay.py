"""Replay of random flows under random orders of results: the same requests, the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.runs.model import Divergence, EffectFailed
from tests.replaying import Journal, replayed

if TYPE_CHECKING:
    from hookline.flows.context import Context
    from tests.replaying import Flow

# A plan is an effect (its name, and whether its error is caught), a sequence, or a parallel.
Plan = tuple[str, Any]

names = st.sampled_from(("run", "lint", "build"))
effects = st.tuples(st.just("effect"), st.tuples(names, st.booleans()))
plans: st.SearchStrategy[Plan] = st.recursive(
    effects,
    lambda inner: st.tuples(st.sampled_from(("sequence", "parallel")), st.lists(inner, max_size=3)),
    max_leaves=10,
)


def flow_of(plan: Plan) -> Flow:
    """A flow that carries a plan out and returns everything that it saw, in order."""

    async def follow(ctx: Context, part: Plan, seen: list[Any]) -> Any:
        kind, inner = part
        if kind == "effect":
            name, catches = inner
            return await ask(ctx, name, catches, seen)
        if kind == "sequence":
            return [await follow(ctx, each, seen) for each in inner]
        return await ctx.parallel(*(follow(ctx, each, seen) for each in inner))

    async def ask(ctx: Context, name: str, catches: bool, seen: list[Any]) -> Any:
        try:
            # What was seen so far is part of the request: a wake-up out of order would differ.
            value = await ctx.run(f"{name} after {seen}", id=name)
        except EffectFailed as failed:
            seen.append(failed.error)
            if not catches:
                raise
            return None
        seen.append(value)
        return value

    async def flow(ctx: Context) -> Any:
        seen: list[Any] = []
        return [await follow(ctx, plan, seen), seen]

    return flow


def outcome(journal: Journal) -> Any:
    try:
        return journal.result
    except EffectFailed as failed:
        return str(failed)


def run(plan: Plan, data: st.DataObject) -> Journal:
    """Carry a flow out with results in a random order."""
    journal = Journal(flow_of(plan))
    while not journal.stepper.finished:
        chosen = data.draw(st.sampled_from(journal.pending))
        if data.draw(st.booleans(), label="fails"):
            journal.resolve(chosen, error=f"error {journal.seq}")
        else:
            journal.resolve(chosen, f"value {journal.seq}")
    return journal


def at(journal: Journal, place: int) -> list[Any]:
    """The rows as they were when the journal had so many records."""
    return [
        effect
        if (effect.resolved_seq or 0) <= place
        else msgspec.structs.replace(
            effect, status="pending", value=None, error=None, resolved_seq=None
        )
        for effect in journal.effects.values()
        if effect.requested_seq <= place
    ]


@given(plans, st.data())
def test_a_replay_from_any_prefix_asks_for_the_same_and_ends_alike(
    plan: Plan, data: st.DataObject
) -> None:
    journal = run(plan, data)
    expected = outcome(journal)
    asked = {name: effect.digest for name, effect in journal.effects.items()}
    for place in range(journal.seq + 1):
        again = Journal(flow_of(plan), recorded=at(journal, place), seq=place)
        assert {name: e.digest for name, e in again.effects.items()}.items() <= asked.items()
        for effect in _later_results(journal, place):
            again.resolve(effect.effect_id, effect.value, error=effect.error)
        assert outcome(again) == expected
        assert {name: e.digest for name, e in again.effects.items()} == asked


def _later_results(journal: Journal, place: int) -> list[Any]:
    later = [e for e in journal.effects.values() if (e.resolved_seq or 0) > place]
    return sorted(later, key=lambda effect: effect.resolved_seq or 0)


@given(plans, st.data())
def test_the_names_of_effects_do_not_depend_on_the_order_of_results(
    plan: Plan, data: st.DataObject
) -> None:
    def without_failures() -> set[str]:
        journal = Journal(flow_of(plan))
        while not journal.stepper.finished:
            journal.resolve(data.draw(st.sampled_from(journal.pending)))
        return set(journal.effects)

    assert without_failures() == without_failures()


@given(plans.filter(lambda plan: "effect" in str(plan)), st.data())
def test_a_changed_request_is_always_told_with_its_step(plan: Plan, data: st.DataObject) -> None:
    journal = run(plan, data)
    rows = list(journal.effects.values())
    changed = data.draw(st.sampled_from(rows))
    forged = [
        msgspec.structs.replace(each, digest="0" * 16) if each is changed else each for each in rows
    ]
    with pytest.raises(Divergence) as told:
        replayed(flow_of(plan), forged)
    assert told.value.step == changed.effect_id
