"""How one hook's reply is read under each rule: JSON, plain commands, functions, nonsense."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hookline.domain.hooks.answers import FeedAnswer, GateAnswer, GuardAnswer, StopDecision
from hookline.domain.hooks.records import Action, Reply
from hookline.errors import HookFailure
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES


def hook(kind: str = "command", **options: Any) -> Hook:
    return Hook(name="h", points=("p",), kind=kind, target="make check", **options)


def read(rule: str, reply: Reply, kind: str = "command", **options: Any) -> Any:
    return RULES[rule].read(reply, hook(kind, **options))


def returned(rule: str, value: Any, **options: Any) -> Any:
    """What a rule reads in the value that a function returned."""
    return read(rule, Reply(value), "python", **options)


def printed(rule: str, answer: dict[str, Any], code: int = 0, **options: Any) -> Any:
    """What a rule reads in a JSON object on a program's stdout."""
    text = msgspec.json.encode(answer).decode()
    return read(rule, Reply(answer, text=text, exit_code=code), **options)


def plain(rule: str, code: int, text: str = "", stderr: str = "", kind: str = "command") -> Any:
    """What a rule reads in a program that printed no JSON object."""
    return read(rule, Reply(None, text=text, stderr=stderr, exit_code=code), kind)


def wire(answer: Any) -> Any:
    return msgspec.to_builtins(answer)


# react: a list of actions, or an object that has one; nothing is no action.

LOG = {"type": "log", "payload": {"type": "seen"}}


@pytest.mark.parametrize("nothing", [None, [], (), {}, {"actions": []}, ""])
def test_react_reads_nothing_as_no_action(nothing: Any) -> None:
    assert returned("react", nothing) == ()


@pytest.mark.parametrize(
    "value",
    [
        [LOG],
        (LOG,),
        {"actions": [LOG]},
        [Action("log", {"type": "seen"})],
        {"actions": (Action("log", {"type": "seen"}),)},
    ],
)
def test_react_reads_actions(value: Any) -> None:
    assert returned("react", value) == (Action("log", {"type": "seen"}),)


@pytest.mark.parametrize("kind", ["create_task", "update_task", "execute_workflow", "log"])
def test_react_knows_four_actions(kind: str) -> None:
    assert printed("react", {"actions": [{"type": kind}]}) == (Action(kind, {}),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "must be a list, not str"),
        (7, "must be a list, not int"),
        ({"actions": "log"}, "must be a list, not str"),
        ({"action": []}, "has no `actions`"),
        ([object()], "actions must be plain data"),
        ([Action("log", {"data": {1j}})], "actions must be plain data"),
    ],
)
def test_react_refuses_what_is_no_list_of_actions(value: Any, message: str) -> None:
    with pytest.raises(HookFailure, match=message):
        returned("react", value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"payload": {}}, "an action has no type; there are create_task"),
        ("log", "an action has no type"),
        ({"type": 3}, "an action has no type"),
        ({"type": "log", "payload": 3}, "the payload of log must be an object"),
        ({"type": "log", "payload": None}, "the payload of log must be an object"),
        ({"type": "drop_tables"}, "unknown action 'drop_tables'; there are create_task"),
        (Action("drop_tables"), "unknown action 'drop_tables'"),
    ],
)
def test_react_keeps_an_action_that_nobody_can_carry_out(value: Any, problem: str) -> None:
    (found, other) = returned("react", [value, LOG])
    assert problem in found.problem
    assert other == Action("log", {"type": "seen"})


def test_json_of_a_commands_own_is_no_answer_at_react_but_a_scripts_must_be() -> None:
    assert printed("react", {"id": 7}) == ()
    assert printed("react", {"id": 7}, kind="http") == ()
    with pytest.raises(HookFailure, match="no `actions`"):
        printed("react", {"id": 7}, kind="script")


def test_text_at_react_is_no_answer() -> None:
    assert plain("react", 0, "done\n") == ()


@pytest.mark.parametrize("rule", ["react", "steer"])
@pytest.mark.parametrize("code", [1, 2, 75])
def test_react_and_steer_fail_on_any_exit_code_but_zero(rule: str, code: int) -> None:
    with pytest.raises(HookFailure, match=f"exited {code}: second") as caught:
        plain(rule, code, "out\n", "first\nsecond\n")
    failure = caught.value
    assert (failure.stdout, failure.stderr, failure.program_exit) == (
        "out\n",
        "first\nsecond\n",
        code,
    )


def test_actions_of_a_program_that_failed_are_not_taken() -> None:
    with pytest.raises(HookFailure, match="exited 1"):
        printed("react", {"actions": [LOG]}, code=1)


# feed: text.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        ("hello", "hello"),
        ({"text": "hello"}, "hello"),
        (FeedAnswer(text="hello"), "hello"),
        ({"text": "hello", "more": 1}, "hello"),
    ],
)
def test_feed_reads_what_a_function_returns(value: Any, text: str) -> None:
    assert returned("feed", value) == FeedAnswer(text=text)


@pytest.mark.parametrize("value", [7, ["a"], {"txt": "a"}, {"text": 7}, True])
def test_feed_refuses_what_is_no_text(value: Any) -> None:
    with pytest.raises(HookFailure, match="cannot be read"):
        returned("feed", value)


@pytest.mark.parametrize(
    ("code", "text", "stderr", "fed"),
    [
        (0, "out\n", "", "out\n"),
        (0, "out\n", "warning\n", "out\n"),
        (0, "", "only here\n", "only here\n"),
        (0, "", "", ""),
        (1, "out\n", "", "out\n"),
        (2, "out\n", "err\n", "out\n\nerr\n"),
        (75, "", "err\n", "err\n"),
    ],
)
def test_feed_reads_a_plain_commands_output(code: int, text: str, stderr: str, fed: str) -> None:
    assert plain("feed", code, text, stderr) == FeedAnswer(text=fed)


def test_feed_reads_text_out_of_an_object_and_keeps_any_other_object_as_it_is() -> None:
    assert printed("feed", {"text": "hello"}) == FeedAnswer(text="hello")
    assert printed("feed", {"count": 1}) == FeedAnswer(text='{"count":1}')
    assert printed("feed", {"text": "hello"}, code=1) == FeedAnswer(text='{"text":"hello"}')


# gate: success, failure, skip, pending.


@pytest.mark.parametrize("status", ["success", "failure", "skip", "pending"])
def test_gate_reads_its_four_statuses(status: str) -> None:
    assert returned("gate", {"status": status}) == GateAnswer(status=status)  # type: ignore[arg-type]  # each is one of the literals
    assert printed("gate", {"status": status}).status == status


def test_gate_reads_every_field_in_either_spelling() -> None:
    wanted = GateAnswer(
        status="failure",
        message="2 failed",
        context={"snake_key": 2},
        remediation_prompt="Fix them.",
        retry_after=30,
    )
    fields = {"status": "failure", "message": "2 failed", "context": {"snake_key": 2}}
    camel = {**fields, "remediationPrompt": "Fix them.", "retryAfter": 30}
    snake = {**fields, "remediation_prompt": "Fix them.", "retry_after": 30}
    assert returned("gate", camel) == wanted
    assert returned("gate", snake) == wanted
    assert printed("gate", snake) == wanted
    assert returned("gate", wanted) is wanted


def test_gate_reads_plain_exit_codes() -> None:
    assert wire(plain("gate", 0, "fine")) == {"status": "success", "message": "`make check` passed"}
    assert wire(plain("gate", 75, "waiting for CI\n")) == {
        "status": "pending",
        "message": "waiting for CI",
    }
    assert wire(plain("gate", 1, "1 failed\n", "boom\n")) == {
        "status": "failure",
        "message": "`make check` exited 1",
        "remediationPrompt": "1 failed\n\nboom\n",
    }


@pytest.mark.parametrize("code", [1, 2, 3, 74, 76, 125, 255])
def test_gate_takes_every_other_code_as_failure_with_something_to_fix(code: int) -> None:
    answer = plain("gate", code)
    assert answer.status == "failure"
    assert answer.remediation_prompt == f"`make check` exited {code}"


@pytest.mark.parametrize("status", ["success", "skip"])
@pytest.mark.parametrize("code", [1, 75])
def test_gate_refuses_a_good_answer_with_a_bad_exit_code(status: str, code: int) -> None:
    with pytest.raises(HookFailure, match=f"answered '{status}' but exited {code}"):
        printed("gate", {"status": status}, code=code)


@pytest.mark.parametrize("code", [0, 1, 75])
@pytest.mark.parametrize("status", ["failure", "pending"])
def test_gate_takes_a_bad_answer_with_any_exit_code(status: str, code: int) -> None:
    assert printed("gate", {"status": status}, code=code).status == status


@pytest.mark.parametrize(
    "value",
    [None, "success", True, ["success"], {}, {"status": "ok"}, {"status": "failure", "message": 1}],
)
def test_gate_refuses_what_is_no_answer(value: Any) -> None:
    with pytest.raises(HookFailure, match="cannot be read"):
        returned("gate", value)


# decide: complete, continue, escalate.


def test_decide_reads_every_field_in_either_spelling() -> None:
    wanted = StopDecision(
        action="continue",
        reason="tests fail",
        next_prompt="Fix them.",
        checkpoint_data={"step": 2},
        metadata={"failed": 3},
    )
    fields = {"action": "continue", "reason": "tests fail", "metadata": {"failed": 3}}
    camel = {**fields, "nextPrompt": "Fix them.", "checkpointData": {"step": 2}}
    snake = {**fields, "next_prompt": "Fix them.", "checkpoint_data": {"step": 2}}
    assert returned("decide", camel) == wanted
    assert returned("decide", snake) == wanted
    assert returned("decide", wanted) is wanted


def test_decide_reads_plain_exit_codes() -> None:
    assert wire(plain("decide", 0, "all good")) == {
        "action": "complete",
        "reason": "`make check` exited 0",
    }
    for code in (1, 2, 75):
        assert wire(plain("decide", code, "2 failed\n")) == {
            "action": "continue",
            "reason": f"`make check` exited {code}",
            "nextPrompt": "2 failed\n",
        }
    assert plain("decide", 1).next_prompt is None


def test_decide_refuses_complete_with_a_bad_exit_code_and_takes_the_others() -> None:
    with pytest.raises(HookFailure, match="answered 'complete' but exited 1"):
        printed("decide", {"action": "complete"}, code=1)
    assert printed("decide", {"action": "continue"}, code=1).action == "continue"
    assert printed("decide", {"action": "escalate"}, code=1).action == "escalate"


@pytest.mark.parametrize("value", [None, "complete", [], {}, {"action": "stop"}, {"action": None}])
def test_decide_refuses_what_is_no_decision(value: Any) -> None:
    with pytest.raises(HookFailure, match="cannot be read"):
        returned("decide", value)


# steer: an object, kept word for word.


def test_steer_keeps_an_object_word_for_word() -> None:
    answer = {"action": "executed-tasks", "snake_key": [1], "tasks": ["e-1"], "extra": {"a": None}}
    assert returned("steer", answer) == answer
    assert printed("steer", answer) == answer


def test_steer_reads_nothing_as_none() -> None:
    assert returned("steer", None) == {"action": "none"}
    assert plain("steer", 0, " \n", "a word of warning") == {"action": "none"}


def test_steer_refuses_text_and_what_is_no_object() -> None:
    with pytest.raises(HookFailure, match="JSON object on stdout"):
        plain("steer", 0, "ran two tasks\n")
    for value in ("none", ["none"], 3):
        with pytest.raises(HookFailure, match=f"not {type(value).__name__}"):
            returned("steer", value)


# guard: deny, defer, ask, modify, allow, none.


@pytest.mark.parametrize("verdict", ["deny", "defer", "ask", "allow", "none"])
def test_guard_reads_its_verdicts(verdict: str) -> None:
    answer = {"verdict": verdict, "reason": "because", "context": "note"}
    assert wire(returned("guard", answer)) == answer
    assert wire(printed("guard", answer)) == answer


def test_guard_reads_an_input_that_was_rewritten_in_either_spelling() -> None:
    wanted = GuardAnswer(verdict="modify", updated_input={"command": "ls", "dry_run": True})
    for key in ("updatedInput", "updated_input"):
        answer = {"verdict": "modify", key: {"command": "ls", "dry_run": True}}
        assert returned("guard", answer, rewrites=True) == wanted


def test_guard_lets_only_rewriting_hooks_change_the_input() -> None:
    with pytest.raises(HookFailure, match="`rewrites: true`"):
        returned("guard", {"verdict": "allow", "updatedInput": {}})
    with pytest.raises(HookFailure, match="`modify` needs `updatedInput`"):
        returned("guard", {"verdict": "modify"}, rewrites=True)


def test_guard_reads_plain_exit_codes() -> None:
    assert returned("guard", None) == GuardAnswer(verdict="none")
    assert plain("guard", 0, "whatever") == GuardAnswer(verdict="none")
    denied = plain("guard", 2, "out", " not on a Friday \n")
    assert denied == GuardAnswer(verdict="deny", reason="not on a Friday")
    assert plain("guard", 2) == GuardAnswer(verdict="deny", reason="denied")


@pytest.mark.parametrize("code", [1, 3, 75, 255])
def test_guard_takes_every_other_code_as_a_failure(code: int) -> None:
    with pytest.raises(HookFailure, match=f"exited {code}"):
        plain("guard", code)


@pytest.mark.parametrize("code", [1, 2])
def test_guard_takes_nothing_but_deny_with_a_bad_exit_code(code: int) -> None:
    assert printed("guard", {"verdict": "deny"}, code=code).verdict == "deny"
    for verdict in ("allow", "ask", "defer", "none"):
        with pytest.raises(HookFailure, match=f"answered '{verdict}' but exited {code}"):
            printed("guard", {"verdict": verdict}, code=code)


@pytest.mark.parametrize(
    "value", ["deny", True, {}, {"verdict": "no"}, {"verdict": "deny", "reason": 1}]
)
def test_guard_refuses_what_is_no_verdict(value: Any) -> None:
    with pytest.raises(HookFailure, match="cannot be read"):
        returned("guard", value)


# Whatever cannot be read carries what the program had said.


def test_an_unreadable_answer_keeps_the_output_that_explains_it() -> None:
    reply = Reply({"status": "ok"}, text='{"status":"ok"}', stderr="hm", exit_code=0, blob="b")
    with pytest.raises(HookFailure) as caught:
        RULES["gate"].read(reply, hook())
    failure = caught.value
    assert (failure.stdout, failure.stderr, failure.program_exit, failure.blob) == (
        '{"status":"ok"}',
        "hm",
        0,
        "b",
    )
