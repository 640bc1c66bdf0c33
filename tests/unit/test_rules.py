"""The six rules, line by line: which hooks run, what a failing one does, what the answer is."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from hookline.domain.hooks.answers import FeedAnswer, GateAnswer, GuardAnswer, StopDecision
from hookline.domain.hooks.records import FAILED, OK, SKIPPED, TIMEOUT, Action, Outcome
from hookline.hooks.dispatch import dispatch
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES, failed

BROKEN = [FAILED, TIMEOUT]
NOBODY = {"action": "continue", "reason": "No hooks registered for this task", "hookId": "default"}


class Asked:
    """Hooks whose outcomes are known beforehand, and what each of them was shown."""

    def __init__(self, rule: str, *said: tuple[Hook, Outcome]) -> None:
        self.rule = RULES[rule]
        self.said = said
        self.seen: list[tuple[str, Any]] = []

    def answer(self, payload: Any = None) -> Any:
        hooks = [hook for hook, _ in self.said]
        return asyncio.run(dispatch(self.rule, hooks, payload, self._call))

    async def _call(self, hook: Hook, payload: Any) -> Outcome:
        self.seen.append((hook.name, payload))
        return next(outcome for each, outcome in self.said if each is hook)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.seen]


def ok(name: str, answer: Any, **options: Any) -> tuple[Hook, Outcome]:
    return _hook(name, options), Outcome(name, OK, answer)


def broken(name: str, status: str = FAILED, **options: Any) -> tuple[Hook, Outcome]:
    return _hook(name, options), Outcome(
        name, status, None, "no luck", stdout="half\n", stderr="oops"
    )


def skipped(name: str, **options: Any) -> tuple[Hook, Outcome]:
    return _hook(name, options), Outcome(name, SKIPPED, None, values={"a": 1})


def _hook(name: str, options: dict[str, Any]) -> Hook:
    return Hook(name=name, points=("p",), kind="command", target=name, **options)


def wire(answer: Any) -> Any:
    return msgspec.to_builtins(answer)


def test_there_are_six_rules_named_as_they_are_keyed() -> None:
    assert {key: rule.name for key, rule in RULES.items()} == {
        name: name for name in ("react", "feed", "gate", "decide", "steer", "guard")
    }


def test_only_a_hook_that_was_asked_and_gave_no_answer_has_failed() -> None:
    assert [
        status for status in (OK, SKIPPED, FAILED, TIMEOUT) if failed(Outcome("h", status))
    ] == BROKEN


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("react", []),
        ("feed", {}),
        ("gate", {"status": "success", "message": "auto-accepted: no gate is configured here"}),
        ("decide", {"action": "continue", "reason": "no stop hook applied"}),
        ("steer", {"action": "none", "reason": "no hook answered"}),
        ("guard", {"verdict": "none"}),
    ],
)
def test_without_hooks_and_with_skipped_ones_alone_the_answer_is_the_same(
    rule: str, answer: Any
) -> None:
    assert wire(Asked(rule).answer({})) == (NOBODY if rule == "decide" else answer)
    asked = Asked(rule, skipped("a", pipe_output=True), skipped("b", rewrites=True))
    assert wire(asked.answer({"input": {}})) == answer
    assert sorted(asked.names) == ["a", "b"]


# react


@pytest.mark.parametrize("status", BROKEN)
def test_react_asks_all_and_keeps_the_actions_in_order(status: str) -> None:
    first, second, third = (Action("log", {"n": n}) for n in (1, 2, 3))
    said = (
        ok("a", (first, second)),
        broken("b", status),
        skipped("c"),
        ok("d", ()),
        ok("e", (third,)),
    )
    asked = Asked("react", *said)
    assert asked.answer("event") == [first, second, third]
    assert asked.seen == [(name, "event") for name in "abcde"]


# feed


def test_feed_asks_all_and_joins_the_texts_of_those_that_pipe() -> None:
    asked = Asked(
        "feed",
        ok("a", FeedAnswer(text="one"), pipe_output=True),
        ok("b", FeedAnswer(text="kept to itself")),
        ok("c", FeedAnswer(), pipe_output=True),
        ok("d", FeedAnswer(text="two"), pipe_output=True),
    )
    assert asked.answer() == FeedAnswer(text="one\ntwo")
    assert asked.names == ["a", "b", "c", "d"]


@pytest.mark.parametrize("status", BROKEN)
def test_feed_turns_a_failure_and_its_partial_output_into_text(status: str) -> None:
    asked = Asked(
        "feed",
        broken("a", status, pipe_output=True),
        broken("b", status),
        ok("c", FeedAnswer(text="fine"), pipe_output=True),
    )
    assert asked.answer() == FeedAnswer(text="[hook a failed: no luck]\nhalf\n\noops\nfine")


def test_feed_tells_the_last_line_of_a_program_once() -> None:
    hook = _hook("a", {"pipe_output": True})
    error = "exit code 127, a program was not found: sh: 1: x: not found"
    failing = Outcome("a", FAILED, None, error, stderr="begins\nsh: 1: x: not found\n")
    told = Asked("feed", (hook, failing)).answer()
    assert told == FeedAnswer(text=f"[hook a failed: {error}]\nbegins")


def test_feed_says_so_when_a_hook_failed_without_a_word() -> None:
    hook = _hook("a", {"pipe_output": True})
    silent = Asked("feed", (hook, Outcome("a", FAILED, None, "no luck")))
    assert silent.answer() == FeedAnswer(text="[hook a failed: no luck]")


# gate


def gate(name: str, status: str, **fields: Any) -> tuple[Hook, Outcome]:
    return ok(name, GateAnswer(status=status, **fields))  # type: ignore[arg-type]  # a literal


def test_gate_succeeds_when_all_do_and_gathers_what_they_say() -> None:
    asked = Asked(
        "gate",
        gate("a", "success", message="tests pass", context={"tests": 12, "by": "a"}),
        gate("b", "skip", message="no docs changed"),
        skipped("c"),
        gate("d", "success", context={"pr": "url", "by": "d"}),
    )
    assert wire(asked.answer({})) == {
        "status": "success",
        "message": "tests pass; no docs changed",
        "context": {"tests": 12, "pr": "url", "by": "d"},
    }
    assert asked.names == ["a", "b", "c", "d"]


def test_gate_is_skipped_only_when_every_answer_is_a_skip() -> None:
    asked = Asked("gate", gate("a", "skip", message="not here"), skipped("b"), gate("c", "skip"))
    assert wire(asked.answer({})) == {"status": "skip", "message": "not here"}


def test_gate_stops_at_the_first_failure_and_keeps_its_remedy() -> None:
    asked = Asked(
        "gate",
        gate("a", "success", context={"a": 1}),
        gate("b", "failure", message="2 fail", remediation_prompt="Fix.", context={"b": 2}),
        gate("c", "success"),
    )
    assert wire(asked.answer({})) == {
        "status": "failure",
        "message": "2 fail",
        "context": {"a": 1, "b": 2},
        "remediationPrompt": "Fix.",
    }
    assert asked.names == ["a", "b"]


def test_gate_stops_at_the_first_pending_and_says_when_to_come_back() -> None:
    asked = Asked("gate", gate("a", "pending", message="CI runs", retry_after=30), broken("b"))
    assert wire(asked.answer({})) == {"status": "pending", "message": "CI runs", "retryAfter": 30}
    assert asked.names == ["a"]


@pytest.mark.parametrize("status", BROKEN)
def test_gate_fails_closed_and_gives_the_agent_nothing_to_fix(status: str) -> None:
    asked = Asked("gate", gate("a", "success"), broken("b", status), gate("c", "success"))
    assert wire(asked.answer({})) == {"status": "failure", "message": "b failed: no luck"}
    assert asked.names == ["a", "b"]


def test_gate_passes_on_in_extra_what_each_hook_found() -> None:
    said = gate("a", "success", context={"pr": "url"}), skipped("b"), gate("c", "skip")
    asked = Asked("gate", *said, gate("d", "success"))
    start = {"task_id": "T-1", "extra": {"before": 1}}
    asked.answer(start)
    first = {"gate": "a", "status": "success"}
    told = {"before": 1, "a": {"pr": "url"}, "gates": [first]}
    third = {"gate": "c", "status": "skip"}
    assert asked.seen == [
        ("a", start),
        ("b", {"task_id": "T-1", "extra": told}),
        ("c", {"task_id": "T-1", "extra": told}),
        ("d", {"task_id": "T-1", "extra": {**told, "c": {}, "gates": [first, third]}}),
    ]
    assert start == {"task_id": "T-1", "extra": {"before": 1}}


# decide


def decision(name: str, action: str, **fields: Any) -> tuple[Hook, Outcome]:
    return ok(name, StopDecision(action=action, **fields))  # type: ignore[arg-type]  # a literal


def test_decide_lets_the_last_continue_win() -> None:
    asked = Asked(
        "decide",
        decision("a", "continue", reason="one", next_prompt="Go on."),
        decision("b", "continue", reason="two", checkpoint_data={"at": 2}, metadata={"n": 1}),
        skipped("c"),
    )
    assert wire(asked.answer()) == {
        "action": "continue",
        "reason": "two",
        "checkpointData": {"at": 2},
        "metadata": {"n": 1},
        "hookId": "b",
    }
    assert asked.names == ["a", "b", "c"]


@pytest.mark.parametrize("action", ["continue", "complete", "escalate"])
def test_decide_keeps_the_first_checkpoint_whoever_has_the_last_word(action: str) -> None:
    asked = Asked(
        "decide",
        decision("a", "continue", checkpoint_data={"at": 1}),
        decision("b", "continue", checkpoint_data={"at": 2}),
        decision("c", action),
    )
    wanted = {"action": action, "checkpointData": {"at": 1}, "hookId": "c"}
    assert wire(asked.answer()) == wanted


@pytest.mark.parametrize("action", ["complete", "escalate"])
def test_decide_stops_at_the_first_complete_or_escalate(action: str) -> None:
    asked = Asked(
        "decide",
        decision("a", "continue", reason="not yet"),
        decision("b", action, reason="that is it"),
        decision("c", "continue"),
    )
    assert wire(asked.answer()) == {"action": action, "reason": "that is it", "hookId": "b"}
    assert asked.names == ["a", "b"]


@pytest.mark.parametrize("status", BROKEN)
def test_decide_escalates_a_failure_with_the_error_in_the_metadata(status: str) -> None:
    said = decision("a", "continue"), broken("b", status), decision("c", "complete")
    asked = Asked("decide", *said)
    assert wire(asked.answer()) == {
        "action": "escalate",
        "reason": "Hook evaluation failed: no luck",
        "metadata": {"error": "no luck"},
        "hookId": "b",
    }
    assert asked.names == ["a", "b"]


# steer


def test_steer_asks_the_next_hook_while_the_answer_is_none() -> None:
    asked = Asked(
        "steer",
        ok("a", {"action": "none", "reason": "nothing pending"}),
        skipped("b"),
        ok("c", {}),
        ok("d", {"action": "executed-tasks", "tasks": ["e-1"], "count": 1}),
        ok("e", {"action": "waiting"}),
    )
    assert asked.answer({}) == {"action": "executed-tasks", "tasks": ["e-1"], "count": 1}
    assert asked.names == ["a", "b", "c", "d"]


def test_steer_keeps_an_unknown_action_word_for_word() -> None:
    answer = {"action": "brew-coffee", "cups": 2, "snake_case": None}
    assert Asked("steer", ok("a", answer)).answer({}) == answer


@pytest.mark.parametrize("more", [True, False])
def test_steer_takes_a_status_at_the_end_of_a_tick_as_an_answer(more: bool) -> None:
    status = {"iteration": 5, "finalStatus": "waiting", "needsMoreIterations": more}
    asked = Asked("steer", ok("a", status), ok("b", {"needsMoreIterations": not more}))
    assert asked.answer({}) == status
    assert asked.names == ["a"]


@pytest.mark.parametrize("status", BROKEN)
def test_steer_asks_the_next_hook_after_a_failure(status: str) -> None:
    asked = Asked("steer", broken("a", status), ok("b", {"action": "waiting"}))
    assert asked.answer({}) == {"action": "waiting"}
    unanswered = Asked("steer", broken("a", status)).answer({})
    assert unanswered == {"action": "none", "reason": "no hook answered"}


def test_steer_gives_the_last_reason_when_nobody_answered() -> None:
    asked = Asked(
        "steer",
        ok("a", {"action": "none", "reason": "first"}),
        ok("b", {"action": "none", "reason": "second"}),
        broken("c"),
    )
    assert asked.answer({}) == {"action": "none", "reason": "second"}


def test_steer_hands_the_tasks_of_a_pass_to_the_next_hook() -> None:
    asked = Asked(
        "steer",
        ok("a", {"action": "pass", "tasks": ["e-2", "e-1"]}),
        ok("b", {"action": "none"}),
        ok("c", {"action": "pass"}),
        ok("d", {"action": "executed-tasks"}),
    )
    asked.answer({"runId": "r", "tasks": ["e-1"]})
    assert asked.seen == [
        ("a", {"runId": "r", "tasks": ["e-1"]}),
        ("b", {"runId": "r", "tasks": ["e-2", "e-1"]}),
        ("c", {"runId": "r", "tasks": ["e-2", "e-1"]}),
        ("d", {"runId": "r", "tasks": []}),
    ]


# guard


def verdict(name: str, word: str, rewrites: bool = False, **fields: Any) -> tuple[Hook, Outcome]:
    answer = GuardAnswer(verdict=word, **fields)  # type: ignore[arg-type]  # one of the literals
    return ok(name, answer, rewrites=rewrites)


def test_guard_rewrites_first_and_checks_the_final_input() -> None:
    asked = Asked(
        "guard",
        verdict("check-1", "allow"),
        verdict("rewrite-1", "modify", True, updated_input={"cmd": "ls"}),
        verdict("check-2", "none"),
        verdict("rewrite-2", "allow", True, updated_input={"cmd": "ls -l"}),
        verdict("rewrite-3", "none", True),
    )
    answer = asked.answer({"tool": "sh", "input": {"cmd": "rm"}})
    assert [(name, payload["input"]["cmd"]) for name, payload in asked.seen] == [
        ("rewrite-1", "rm"),
        ("rewrite-2", "ls"),
        ("rewrite-3", "ls -l"),
        ("check-1", "ls -l"),
        ("check-2", "ls -l"),
    ]
    assert answer == GuardAnswer(verdict="modify", updated_input={"cmd": "ls -l"})


STRICTEST_FIRST = ("deny", "defer", "ask", "modify", "allow", "none")


@pytest.mark.parametrize("weaker", range(1, 6))
@pytest.mark.parametrize("stricter", range(5))
def test_guard_takes_the_strictest_verdict(stricter: int, weaker: int) -> None:
    low, high = STRICTEST_FIRST[max(stricter, weaker)], STRICTEST_FIRST[min(stricter, weaker)]
    for order in ((low, high), (high, low)):
        asked = Asked("guard", *(verdict(f"{i}", w, reason=w) for i, w in enumerate(order)))
        answer = asked.answer({"input": {}})
        assert (answer.verdict, answer.reason) == (high, high)
        assert asked.names == ["0", "1"]


def test_guard_asks_all_even_after_a_deny_and_gathers_their_context() -> None:
    asked = Asked(
        "guard",
        verdict("a", "deny", reason="first", context="one"),
        verdict("b", "deny", reason="second"),
        skipped("c"),
        verdict("d", "allow", context="two"),
    )
    assert asked.answer({}) == GuardAnswer(verdict="deny", reason="first", context="one\ntwo")
    assert asked.names == ["a", "b", "c", "d"]


@pytest.mark.parametrize("status", BROKEN)
@pytest.mark.parametrize(
    ("on_failure", "answer"),
    [("open", "allow"), ("closed", "deny"), ("ask", "ask"), (None, "deny")],
)
def test_guard_fails_as_each_hook_says_and_closed_by_default(
    status: str, on_failure: str | None, answer: str
) -> None:
    options = {} if on_failure is None else {"on_failure": on_failure}
    asked = Asked("guard", broken("a", status, **options), verdict("b", "allow"))
    given = asked.answer({})
    assert given.verdict == answer
    if answer != "allow":
        assert given.reason == "a failed: no luck"
