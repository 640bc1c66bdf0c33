"""The rules over random lists of outcomes, against plain definitions of what each must give."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.hooks.records import OK, SKIPPED, Outcome
from hookline.hooks.dispatch import dispatch
from hookline.hooks.registry import Hook, HookRegistry
from hookline.hooks.rules import RULES
from tests.property.strategies import VERDICTS, Said, hooks, said, said_under_any_rule

PAYLOAD: dict[str, Any] = {"input": {"x": 0}, "extra": {"before": 1}, "tasks": ["t"]}
GOOD = ("success", "skip")


def ask(rule: str, answers: Said, payload: Any = PAYLOAD) -> tuple[Any, list[str]]:
    """The answer under a rule, and the names of the hooks that were asked, in order."""
    asked: list[str] = []
    known = {hook.name: outcome for hook, outcome in answers}

    async def call(hook: Hook, given: Any) -> Outcome:
        asked.append(hook.name)
        return known[hook.name]

    running = dispatch(RULES[rule], [hook for hook, _ in answers], payload, call)
    try:
        running.send(None)
    except StopIteration as done:
        return done.value, asked
    raise AssertionError("a dispatch of calls that never wait has waited")


def answered(answers: Said, asked: list[str]) -> list[Outcome]:
    known = {hook.name: outcome for hook, outcome in answers}
    return [known[name] for name in asked if known[name].status != SKIPPED]


def is_answer(answer: dict[str, Any]) -> bool:
    words = set(answer) - {"reason", "tasks"}
    return words == {"needsMoreIterations"} or answer.get("action") in ("waiting", "made-up")


def enough(rule: str, outcome: Outcome) -> bool:
    """When a rule needs to ask nobody else, in plain words."""
    if outcome.status == SKIPPED or rule in ("react", "feed", "guard"):
        return False
    if outcome.status != OK:
        return rule in ("gate", "decide")
    if rule == "gate":
        return outcome.answer.status in ("failure", "pending")
    if rule == "decide":
        return outcome.answer.action in ("complete", "escalate")
    return is_answer(outcome.answer)


def names(answers: Said) -> list[str]:
    return [hook.name for hook, _ in answers]


@given(said("react"))
def test_react_asks_all_keeps_the_order_and_drops_exactly_the_failures(answers: Said) -> None:
    folded, asked = ask("react", answers)
    assert asked == names(answers)
    kept = [outcome.answer for _, outcome in answers if outcome.status == OK]
    assert folded == [action for some in kept for action in some]


@given(said("feed"))
def test_feed_asks_all_and_says_only_what_may_be_piped(answers: Said) -> None:
    folded, asked = ask("feed", answers)
    assert asked == names(answers)
    rest = folded.text
    for hook, outcome in answers:
        if hook.pipe_output and outcome.status == OK:
            assert outcome.answer.text in rest
        if hook.pipe_output and outcome.status not in (OK, SKIPPED):
            assert f"[hook {hook.name} failed: {outcome.error}]" in rest
            assert outcome.stdout in rest
            assert outcome.stderr in rest
    silent = [(hook, outcome) for hook, outcome in answers if not hook.pipe_output]
    assert ask("feed", silent)[0].text == ""


@given(said("gate"))
def test_a_gate_passes_only_if_every_asked_hook_did(answers: Said) -> None:
    folded, asked = ask("gate", answers)
    good = [each.status == OK and each.answer.status in GOOD for each in answered(answers, asked)]
    assert (folded.status in GOOD) == all(good)
    assert all(good[:-1])
    if all(good):
        assert asked == names(answers)


@given(said("gate"), said("gate", prefix="more", max_size=3), st.data())
def test_a_failed_gate_is_not_passed_by_adding_hooks(
    answers: Said, more: Said, data: st.DataObject
) -> None:
    before, _ = ask("gate", answers)
    together = list(answers)
    for each in more:
        together.insert(data.draw(st.integers(0, len(together))), each)
    after, _ = ask("gate", together)
    if before.status not in GOOD:
        assert after.status not in GOOD


@given(said("decide"))
def test_decide_ends_with_the_first_that_does_not_say_continue(answers: Said) -> None:
    folded, asked = ask("decide", answers)
    heard = answered(answers, asked)
    actions = [each.answer.action if each.status == OK else "escalate" for each in heard]
    assert all(action == "continue" for action in actions[:-1])
    assert folded.action == (actions[-1] if actions else "continue")
    nobody = None if answers else "default"
    assert folded.hook_id == (heard[-1].hook if heard else nobody)
    if not actions or actions[-1] == "continue":
        assert asked == names(answers)
    if heard and heard[-1].status != OK:
        assert folded.metadata == {"error": heard[-1].error}


@given(said("steer"))
def test_steer_ends_with_the_first_answer(answers: Said) -> None:
    folded, asked = ask("steer", answers)
    said_so = [each.answer for each in answered(answers, asked) if each.status == OK]
    real = [answer for answer in said_so if is_answer(answer)]
    assert len(real) <= 1
    if real:
        assert folded == real[0] == said_so[-1]
    else:
        assert folded["action"] == "none"
        assert asked == names(answers)


@given(said("guard"))
def test_a_guards_answer_is_the_strictest_that_any_hook_gave(answers: Said) -> None:
    folded, asked = ask("guard", answers)
    first = [hook.name for hook, _ in answers if hook.rewrites]
    assert asked == first + [name for name in names(answers) if name not in first]
    given_verdicts = [
        outcome.answer.verdict
        if outcome.status == OK
        else {"open": "none", "closed": "deny", "ask": "ask"}[hook.on_failure]
        for hook, outcome in answers
        if outcome.status != SKIPPED
    ]
    strictest = next((word for word in VERDICTS if word in given_verdicts), "none")
    assert folded.verdict == strictest


@given(st.lists(st.integers(0, 99), unique=True, max_size=8), st.data())
def test_hooks_are_asked_by_priority_then_layer_then_position(
    numbers: list[int], data: st.DataObject
) -> None:
    made = [data.draw(hooks(f"h{number}")) for number in numbers]
    registry = HookRegistry(made)
    layers = ["project", "user", "plugin", "built-in"]
    ranks = {h.name: (h.priority, layers.index(h.layer), h.position) for h in made}
    _, asked = ask(
        "react", [(h, Outcome(h.name, OK, ())) for h in registry.hooks_for("task_created")]
    )
    assert sorted(asked) == sorted(ranks)
    assert [ranks[name] for name in asked] == sorted(ranks.values())
    assert [hook.name for hook in registry.list()] == asked


@given(said_under_any_rule())
def test_nobody_is_asked_after_the_rule_has_enough(drawn: tuple[str, Said]) -> None:
    rule, answers = drawn
    _, asked = ask(rule, answers)
    known = {hook.name: outcome for hook, outcome in answers}
    stops = [enough(rule, known[name]) for name in asked]
    assert not any(stops[:-1])
    assert len(asked) == len(answers) or stops[-1]


@given(said_under_any_rule())
def test_the_same_outcomes_give_the_same_answer_and_stay_as_they_were(
    drawn: tuple[str, Said],
) -> None:
    rule, answers = drawn
    before, payload = copy.deepcopy(answers), copy.deepcopy(PAYLOAD)
    first = ask(rule, answers, payload)
    assert ask(rule, answers, payload) == first
    assert ask(rule, before, payload) == first
    assert answers == before
    assert payload == PAYLOAD
