"""Built-in stop hooks: the decision orders and the words that loops rely on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hookline.errors import BadInput
from hookline.hooks.builtin import NAMED_BUILTINS, STOP_HOOKS
from hookline.hooks.builtin.stop.table import (
    STOP_PRESETS,
    check_arguments,
)

COMPLETE = {"type": "COMPLETE", "detected": True, "content": "<promise>COMPLETE</promise>"}
ESCALATE = {"type": "ESCALATE", "detected": True, "content": "<promise>ESCALATE</promise>"}
BLOCKED = {"type": "BLOCKED", "detected": True, "content": "<promise>BLOCKED</promise>"}
UNSEEN = {"type": "COMPLETE", "detected": False, "content": ""}

TESTS_PASS = {"ruleName": "tests_pass", "passed": True, "message": None}
TESTS_FAIL = {"ruleName": "tests_pass", "passed": False, "message": "1 failed, 3 passed"}
LINT_PASSES = {"ruleName": "lint", "passed": True, "message": "fine"}
LINT_FAILS = {"ruleName": "lint", "passed": False, "message": "E501 at a.py:3"}


def context(*results: dict[str, Any], promises: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "taskId": "T-1",
        "iteration": 3,
        "executionPhase": None,
        "filesModified": [],
        "validationResults": list(results),
        "completionPromises": list(promises),
        **more,
    }


def says(name: str, seen: dict[str, Any], arguments: Any = None) -> Any:
    """The decision as it stands on the wire."""
    return msgspec.json.decode(msgspec.json.encode(STOP_PRESETS[name](seen, arguments)))


def action(name: str, seen: dict[str, Any], arguments: Any = None) -> str:
    return str(says(name, seen, arguments)["action"])


# What decides where nothing is configured.

CHANGED = {"inRepository": True, "diffHash": "ab12", "changedFiles": 2, "stable": True}
UNCHANGED = {"inRepository": True, "diffHash": None, "changedFiles": 0, "stable": True}


@pytest.mark.parametrize(
    ("results", "work", "reason"),
    [
        ((), CHANGED, "Promised; no check is configured, 2 files changed"),
        ((TESTS_PASS, LINT_PASSES), CHANGED, "Promised; 2 checks passed, 2 files changed"),
        ((), None, "Promised; no check is configured"),
        ((TESTS_PASS,), {"inRepository": False}, "Promised; 1 check passed"),
        ((), {**UNCHANGED, "excused": True}, "Promised; no check is configured"),
        ((), {**UNCHANGED, "gated": True}, "Promised; no check is configured"),
        ((), {"error": "git failed", "gated": True}, "Promised; no check is configured"),
    ],
)
def test_checked_believes_a_promise_that_nothing_contradicts(
    results: tuple[dict[str, Any], ...], work: dict[str, Any] | None, reason: str
) -> None:
    decision = says("checked", context(*results, promises=[COMPLETE], work=work))
    assert decision == {"action": "complete", "reason": reason}


@pytest.mark.parametrize(
    ("results", "promises", "work", "told"),
    [
        ((TESTS_PASS,), [], CHANGED, "The agent has not promised COMPLETE yet"),
        ((TESTS_FAIL, LINT_PASSES), [COMPLETE], CHANGED, "1 of 2 validation rules fails"),
        ((TESTS_FAIL,), [], CHANGED, "1 of 1 validation rule fails"),
        ((TESTS_PASS,), [COMPLETE], UNCHANGED, "the diff is empty"),
        ((TESTS_PASS,), [COMPLETE], {"error": "git failed"}, "a diff: git failed"),
    ],
)
def test_checked_goes_on_and_says_why(
    results: tuple[dict[str, Any], ...],
    promises: list[dict[str, Any]],
    work: dict[str, Any],
    told: str,
) -> None:
    decision = says("checked", context(*results, promises=promises, work=work))
    assert decision["action"] == "continue"
    assert told in decision["reason"]
    # What has to be fixed is in the next prompt; only a missing promise needs no more words.
    assert ("nextPrompt" in decision) == bool(promises or TESTS_FAIL in results)


def test_checked_escalates_before_anything_else() -> None:
    assert action("checked", context(TESTS_FAIL, promises=[COMPLETE, BLOCKED])) == "escalate"


# The three presets of loops.


@pytest.mark.parametrize("name", ["default", "promise"])
def test_a_promise_of_completion_completes(name: str) -> None:
    assert says(name, context(TESTS_FAIL, promises=[COMPLETE])) == {
        "action": "complete",
        "reason": "Agent signaled completion via <promise>COMPLETE</promise>",
    }


@pytest.mark.parametrize("name", ["default", "promise"])
@pytest.mark.parametrize("said", [ESCALATE, BLOCKED])
def test_escalate_and_blocked_escalate(name: str, said: dict[str, Any]) -> None:
    decision = says(name, context(TESTS_PASS, promises=[said]))
    assert decision["action"] == "escalate"
    assert said["content"] in decision["reason"]


@pytest.mark.parametrize("name", ["default", "promise"])
def test_promises_have_an_order(name: str) -> None:
    both = says(name, context(promises=[BLOCKED, ESCALATE]))
    assert "<promise>ESCALATE</promise>" in both["reason"]
    assert action(name, context(promises=[COMPLETE, BLOCKED, ESCALATE])) == "escalate"


@pytest.mark.parametrize("name", ["default", "promise"])
def test_a_promise_that_was_not_detected_is_none(name: str) -> None:
    assert action(name, context(promises=[UNSEEN])) == "continue"


@pytest.mark.parametrize("name", ["default", "validation"])
def test_results_that_all_pass_complete(name: str) -> None:
    assert action(name, context(TESTS_PASS, LINT_PASSES)) == "complete"


@pytest.mark.parametrize("name", ["default", "validation"])
def test_failing_rules_are_named_with_what_they_said(name: str) -> None:
    decision = says(name, context(TESTS_FAIL, LINT_PASSES, LINT_FAILS))
    assert decision["action"] == "continue"
    for text in (decision["reason"], decision["nextPrompt"]):
        for part in ("tests_pass", "1 failed, 3 passed", "lint", "E501 at a.py:3"):
            assert part in text
    assert "fine" not in decision["nextPrompt"]


@pytest.mark.parametrize("name", ["default", "validation"])
def test_no_results_are_not_a_pass(name: str) -> None:
    assert action(name, context()) == "continue"


def test_validation_does_not_listen_to_promises() -> None:
    assert action("validation", context(promises=[COMPLETE])) == "continue"
    assert action("validation", context(TESTS_PASS, promises=[ESCALATE])) == "complete"


def test_promise_does_not_look_at_results() -> None:
    assert says("promise", context(TESTS_PASS)) == {
        "action": "continue",
        "reason": "No promise detected",
    }


def test_what_rules_said_is_bounded() -> None:
    loud = [{"ruleName": f"r{n}", "passed": False, "message": "x" * 100_000} for n in range(50)]
    decision = says("validation", context(*loud))
    assert len(decision["reason"]) <= 1000
    assert len(decision["nextPrompt"]) <= 16 * 1024


# Evidence.

WORK = {"inRepository": True, "diffHash": "ab12", "changedFiles": 2, "stable": True}
PROVEN = context(
    {**TESTS_PASS, "command": "pytest -q", "exitCode": 0},
    LINT_PASSES,
    promises=[COMPLETE],
    work=WORK,
)


def test_evidence_completes_with_a_receipt() -> None:
    decision = says("evidence", PROVEN)
    assert decision["action"] == "complete"
    assert decision["metadata"] == {
        "receipt": {
            "diffHash": "ab12",
            "changedFiles": 2,
            "checks": [
                {"name": "tests_pass", "command": "pytest -q", "exitCode": 0},
                {"name": "lint", "command": None, "exitCode": None},
            ],
        }
    }


def test_evidence_asks_for_its_own_checks_only() -> None:
    seen = {**PROVEN, "validationResults": [TESTS_PASS, LINT_FAILS]}
    assert action("evidence", seen) == "continue"
    decision = says("evidence", seen, {"checks": ["tests_pass"]})
    assert decision["action"] == "complete"
    assert [each["name"] for each in decision["metadata"]["receipt"]["checks"]] == ["tests_pass"]


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"completionPromises": []}, "<promise>COMPLETE</promise>"),
        ({"completionPromises": [UNSEEN]}, "<promise>COMPLETE</promise>"),
        ({"validationResults": [TESTS_FAIL, LINT_PASSES]}, "1 failed, 3 passed"),
        ({"validationResults": [TESTS_PASS, TESTS_FAIL]}, "1 failed, 3 passed"),
        ({"validationResults": [LINT_PASSES]}, "tests_pass"),
        ({"work": {**WORK, "stable": False}}, "edited"),
        ({"work": {**WORK, "changedFiles": 0, "diffHash": "ab12"}}, "diff is empty"),
        ({"work": {**WORK, "diffHash": None}}, "diff is empty"),
        ({"work": {**WORK, "inRepository": False}}, "repository"),
        ({"work": None}, "has no `work`"),
    ],
)
def test_evidence_says_what_is_missing(change: dict[str, Any], missing: str) -> None:
    decision = says("evidence", {**PROVEN, **change}, {"checks": ["tests_pass"]})
    assert decision["action"] == "continue"
    assert missing in decision["reason"]
    assert missing in decision["nextPrompt"]
    assert "metadata" not in decision


def test_evidence_without_any_rule_never_completes_and_says_so() -> None:
    decision = says("evidence", {**PROVEN, "validationResults": []})
    assert decision["action"] == "continue"
    assert "no validation rule" in decision["reason"]


def test_evidence_tells_all_that_is_missing_at_once() -> None:
    decision = says("evidence", context(TESTS_FAIL, work={**WORK, "stable": False}))
    for part in ("<promise>COMPLETE</promise>", "tests_pass", "edited"):
        assert part in decision["nextPrompt"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Tried both.\n\nI need a key.\n<promise>BLOCKED</promise>\n", "Tried both. I need a key."),
        ("<promise> BLOCKED </promise> no key", "no key"),
        (f"{'x' * 5000} no key <promise>BLOCKED</promise>", f"…{'x' * 292} no key"),
    ],
)
def test_what_a_blocked_agent_says_is_part_of_the_reason(said: str, why: str) -> None:
    decision = says("default", {**context(promises=[BLOCKED]), "agentOutput": said})
    signaled = "Agent signaled that it is blocked via <promise>BLOCKED</promise>"
    assert decision["reason"] == f"{signaled}: {why}"


@pytest.mark.parametrize("said", [ESCALATE, BLOCKED])
def test_evidence_escalates_when_asked_even_with_proof(said: dict[str, Any]) -> None:
    assert action("evidence", {**PROVEN, "completionPromises": [COMPLETE, said]}) == "escalate"


# Templates.


def test_tdd() -> None:
    assert says("tdd", context(TESTS_PASS)) == {"action": "complete", "reason": "All tests pass"}
    still = {
        "action": "continue",
        "reason": "Tests still failing",
        "nextPrompt": "Fix failing tests and run again",
    }
    assert says("tdd", context(TESTS_FAIL)) == still
    assert says("tdd", context(LINT_PASSES)) == still


def test_tdd_with_arguments() -> None:
    given = {"rule": "lint", "prompt": "Mend it"}
    assert action("tdd", context(TESTS_FAIL, LINT_PASSES), given) == "complete"
    assert says("tdd", context(LINT_FAILS), given)["nextPrompt"] == "Mend it"


FIXED = {"ruleName": "vulns_fixed", "passed": True}
CLEAN = {"ruleName": "sast_clean", "passed": True}


def test_security_remediation() -> None:
    assert says("security-remediation", context(FIXED, CLEAN, iteration=12)) == {
        "action": "complete",
        "reason": "All vulnerabilities remediated",
    }
    assert says("security-remediation", context(FIXED, iteration=10)) == {
        "action": "escalate",
        "reason": "Max iterations reached - complex vulnerabilities may require manual review",
    }
    assert says("security-remediation", context(FIXED, {**CLEAN, "passed": False})) == {
        "action": "continue",
        "reason": "Vulnerabilities remain",
    }


def test_security_remediation_with_arguments() -> None:
    given = {"iterations": 2, "checks": ["lint"]}
    assert action("security-remediation", context(LINT_PASSES), given) == "complete"
    assert action("security-remediation", context(FIXED, CLEAN, iteration=2), given) == "escalate"
    assert action("security-remediation", context(FIXED, CLEAN, iteration=1), given) == "continue"


def test_checkpoint() -> None:
    assert says("checkpoint", context(iteration=5)) == {
        "action": "continue",
        "reason": "Halfway checkpoint",
        "checkpointData": {
            "executionPhase": "midpoint",
            "executionStep": 5,
            "agentContext": {"milestone": "halfway"},
        },
    }
    for iteration in (4, 6):
        assert says("checkpoint", context(iteration=iteration)) == {
            "action": "continue",
            "reason": "Iteration in progress",
        }


def test_checkpoint_with_a_number_alone() -> None:
    assert says("checkpoint", context(iteration=2), 2)["checkpointData"]["executionStep"] == 2


MEASURED = {"ruleName": "coverage", "passed": True, "coverage": 82.5}


@pytest.mark.parametrize(
    ("result", "minimum", "expected"),
    [
        (MEASURED, None, "complete"),
        (MEASURED, 82.5, "complete"),
        (MEASURED, 83, "continue"),
        ({**MEASURED, "passed": False}, None, "continue"),
        ({**MEASURED, "passed": False}, 10, "continue"),
        ({"ruleName": "coverage", "passed": True}, None, "complete"),
        ({"ruleName": "coverage", "passed": True}, 10, "continue"),
        (TESTS_PASS, None, "continue"),
    ],
)
def test_coverage(result: dict[str, Any], minimum: float | None, expected: str) -> None:
    assert action("coverage", context(result), minimum) == expected


def test_coverage_says_what_was_measured() -> None:
    low = {"ruleName": "coverage", "passed": False, "message": "71.0% of 80%"}
    assert "71.0% of 80%" in says("coverage", context(low))["nextPrompt"]
    assert "82.5%" in says("coverage", context(MEASURED), {"minimum": 90})["reason"]


def test_max_iterations_and_files_changed_are_the_custom_hook_in_two_parts() -> None:
    assert says("max-iterations", context(iteration=11)) == {
        "action": "escalate",
        "reason": "Too many iterations - may need different approach",
    }
    assert action("max-iterations", context(iteration=10)) == "continue"
    assert action("max-iterations", context(iteration=3), 2) == "escalate"
    assert says("files-changed", context()) == {
        "action": "continue",
        "reason": "No files modified yet",
    }
    assert action("files-changed", context(filesModified=["src/a.py"])) == "complete"


def test_files_changed_may_look_at_some_files_only() -> None:
    seen = context(filesModified=["docs/a.md"])
    assert action("files-changed", seen, ["src/**"]) == "continue"
    assert action("files-changed", seen, {"files": ["src/**", "*.md"]}) == "complete"


# Whatever comes.


def test_every_name_is_known_to_the_configuration() -> None:
    assert tuple(STOP_PRESETS) == STOP_HOOKS
    assert all(NAMED_BUILTINS[name] == ("stop",) for name in STOP_PRESETS)


@pytest.mark.parametrize("name", STOP_HOOKS)
@pytest.mark.parametrize(
    "hostile",
    [
        {"validationResults": "all"},
        {"validationResults": [{"passed": True}]},
        {"completionPromises": [{"detected": True}]},
        {"iteration": "many"},
        {"work": 1},
    ],
)
def test_a_context_of_another_form_is_refused(name: str, hostile: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="not the context of an iteration"):
        STOP_PRESETS[name](hostile, None)


@pytest.mark.parametrize("name", STOP_HOOKS)
def test_nothing_at_all_goes_on(name: str) -> None:
    assert action(name, {}) == "continue"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("default", {"a": 1}),
        ("promise", ["COMPLETE"]),
        ("evidence", {"check": ["tests_pass"]}),
        ("evidence", {"checks": [""]}),
        ("tdd", 3),
        ("security-remediation", {"checks": []}),
        ("checkpoint", 0),
        ("coverage", 101),
        ("max-iterations", "ten"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name: str, arguments: Any) -> None:
    with pytest.raises(BadInput, match="arguments cannot be used"):
        check_arguments(name, arguments)
    with pytest.raises(BadInput, match="arguments cannot be used"):
        STOP_PRESETS[name](context(), arguments)
