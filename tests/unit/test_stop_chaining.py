"""Chains of stop hooks: what all_of, any_of and not make of what their hooks say."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import pytest

from hookline.domain.hooks.answers import StopDecision
from hookline.domain.hooks.records import FAILED, OK, SKIPPED, TIMEOUT, Outcome
from hookline.hooks.builtin.stop.chains import escalates, fold_chain
from hookline.hooks.chains import chained, children_of, with_children
from hookline.hooks.registry import Hook

Called = tuple[Hook, Outcome]


def hook(name: str, **options: Any) -> Hook:
    return Hook(name=name, points=("stop",), kind="command", target="true", **options)


def said(name: str, action: Any, reason: str = "", **more: Any) -> Called:
    answer = StopDecision(action=action, reason=reason or f"{name} says {action}", **more)
    return hook(name), Outcome(name, OK, answer)


def broken(name: str, status: str = FAILED) -> Called:
    return hook(name), Outcome(name, status, None, "no luck")


def skipped(name: str) -> Called:
    return hook(name), Outcome(name, SKIPPED, None, values={"iteration": 1})


DONE, WAIT, HELP = said("a", "complete"), said("b", "continue"), said("c", "escalate")


def wire(chain: str, *called: Called) -> Any:
    return msgspec.json.decode(msgspec.json.encode(fold_chain(chain, called)))


def action(chain: str, *called: Called) -> str:
    return str(wire(chain, *called)["action"])


@pytest.mark.parametrize(
    ("called", "all_of", "any_of"),
    [
        ([DONE], "complete", "complete"),
        ([DONE, DONE], "complete", "complete"),
        ([DONE, WAIT], "continue", "complete"),
        ([WAIT], "continue", "continue"),
        ([WAIT, WAIT], "continue", "continue"),
        ([DONE, HELP], "escalate", "escalate"),
        ([WAIT, HELP], "escalate", "escalate"),
        ([DONE, skipped("s")], "complete", "complete"),
        ([WAIT, skipped("s")], "continue", "continue"),
        ([skipped("s"), skipped("t")], "continue", "continue"),
        ([DONE, broken("x")], "escalate", "escalate"),
        ([WAIT, broken("x", TIMEOUT)], "escalate", "escalate"),
    ],
)
def test_every_order_of_the_hooks_decides_the_same(
    called: list[Called], all_of: str, any_of: str
) -> None:
    for order in permutations(called):
        assert (action("all_of", *order), action("any_of", *order)) == (all_of, any_of)


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (DONE, "continue"),
        (WAIT, "complete"),
        (HELP, "escalate"),
        (broken("x"), "escalate"),
        (skipped("s"), "continue"),
    ],
)
def test_not_swaps_complete_and_continue(called: Called, expected: str) -> None:
    assert action("not", called) == expected


def test_not_keeps_the_prompt_of_the_other_case_to_itself() -> None:
    decision = wire("not", said("a", "complete", "tests pass", next_prompt="Well done"))
    assert "tests pass" in decision["reason"]
    assert "nextPrompt" not in decision


def test_a_hook_that_fails_escalates_with_its_error() -> None:
    decision = wire("all_of", DONE, broken("x"))
    assert decision["reason"] == "Hook evaluation failed: no luck"
    assert decision["metadata"]["error"] == "no luck"


def test_prompts_of_those_who_wait_are_joined() -> None:
    decision = wire(
        "all_of",
        said("a", "continue", "tests fail", next_prompt="Mend the tests."),
        said("b", "complete", next_prompt="never shown"),
        said("c", "continue", "no docs", next_prompt="Write the docs."),
    )
    assert decision["nextPrompt"] == "Mend the tests.\n\nWrite the docs."
    assert decision["reason"] == "tests fail; no docs"


def test_prompts_are_bounded_together() -> None:
    loud = [said(f"h{n}", "continue", next_prompt="x" * 100_000) for n in range(8)]
    assert len(wire("any_of", *loud)["nextPrompt"]) < 70_000


def test_a_checkpoint_is_kept_whoever_decides() -> None:
    mark = {"executionPhase": "midpoint"}
    keeps = said("k", "continue", checkpoint_data=mark)
    assert wire("any_of", keeps, DONE)["checkpointData"] == mark
    assert wire("any_of", DONE, keeps)["checkpointData"] == mark
    assert wire("all_of", keeps, WAIT)["checkpointData"] == mark


def test_a_receipt_is_kept() -> None:
    proven = said("e", "complete", metadata={"receipt": {"diffHash": "ab"}})
    assert wire("all_of", proven, DONE)["metadata"]["receipt"] == {"diffHash": "ab"}


def test_the_metadata_tells_what_each_hook_said() -> None:
    inner = fold_chain("not", [WAIT])
    nested = (
        Hook(name="n", points=("stop",), kind="built-in", target="not"),
        Outcome("n", OK, inner),
    )
    assert wire("all_of", DONE, nested, skipped("s"), broken("x"))["metadata"]["hooks"] == [
        {"hook": "a", "action": "complete", "reason": "a says complete"},
        {
            "hook": "n",
            "action": "complete",
            "reason": "Not the case: b says continue",
            "hooks": [{"hook": "b", "action": "continue", "reason": "b says continue"}],
        },
        {"hook": "s", "action": "skipped"},
        {"hook": "x", "action": "escalate", "reason": "Hook evaluation failed: no luck"},
    ]


@pytest.mark.parametrize(
    ("called", "expected"),
    [(DONE, False), (WAIT, False), (skipped("s"), False), (HELP, True), (broken("x"), True)],
)
def test_only_an_escalation_ends_the_asking(called: Called, expected: bool) -> None:
    assert escalates(called[1]) is expected


def chain(name: str, target: str, *hooks: Hook) -> Hook:
    return Hook(
        name=name, points=("stop",), kind="built-in", target=target, metadata=chained(hooks)
    )


def test_the_hooks_of_a_chain_survive_being_stored() -> None:
    first = hook("first", when="iteration > 2", timeout=5.0, env={"A": "b"})
    inner = chain("inner", "not", hook("deep", enabled=False))
    outer = chain("outer", "all_of", first, inner)
    fields = msgspec.json.decode(msgspec.json.encode(outer))
    stored = Hook(**{**fields, "points": tuple(fields["points"])})
    assert [each.name for each in with_children([stored])] == ["outer", "first", "inner", "deep"]
    child = children_of(stored)[0]
    assert (child.when, child.timeout, child.env) == ("iteration > 2", 5.0, {"A": "b"})
    assert child.points == ("stop",)
    assert children_of(children_of(stored)[1])[0].enabled is False


def test_other_hooks_have_no_children() -> None:
    other = Hook(name="a", points=("stop",), kind="command", target="all_of")
    other.metadata = {"hooks": [{"name": "b", "points": ["stop"]}]}
    assert children_of(other) == []
