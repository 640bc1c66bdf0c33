"""Commands under every rule: plain ones, ones that hang, and ones whose condition is not met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.hooks.registry import Hook
from hookline.testing.contracts.kinds import CASES, every_rule, folded

if TYPE_CHECKING:
    from pathlib import Path


def make(rule: str, line: str, **options: Any) -> Hook:
    point = CASES[rule].point
    return Hook(name="h", points=(point,), kind="command", target=line, pipe_output=True, **options)


@pytest.mark.examples(2)
@every_rule
def test_a_hook_that_hangs_is_stopped_and_is_what_the_rule_makes_of_a_failure(
    tmp_path: Path, rule: str
) -> None:
    hook = make(rule, "echo half; sleep 300", timeout=2)
    answer, (outcome,) = folded(tmp_path, rule, hook)
    error = "timed out after 2 s"
    assert (outcome.status, outcome.error, outcome.stdout) == ("timeout", error, "half\n")
    if rule == "feed":
        assert answer == {"text": f"[hook h failed: {error}]\nhalf\n"}
    else:
        assert answer == CASES[rule].failed(error)


PLAIN = "echo 2 tests fail; echo not on a Friday >&2; exit 2"


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("react", []),
        ("feed", {"text": "exit code 2\n2 tests fail\n\nnot on a Friday\n"}),
        (
            "gate",
            {
                "status": "failure",
                "message": f"`{PLAIN}` exited 2",
                "remediationPrompt": "2 tests fail\n\nnot on a Friday\n",
            },
        ),
        (
            "decide",
            {
                "action": "continue",
                "reason": f"`{PLAIN}` exited 2",
                "nextPrompt": "2 tests fail\n\nnot on a Friday\n",
                "hookId": "h",
            },
        ),
        ("steer", {"action": "none", "reason": "no hook answered"}),
        ("guard", {"verdict": "deny", "reason": "not on a Friday"}),
    ],
)
def test_one_plain_command_is_of_use_under_every_rule(
    tmp_path: Path, rule: str, answer: Any
) -> None:
    assert folded(tmp_path, rule, make(rule, PLAIN))[0] == answer


@pytest.mark.parametrize(
    ("rule", "nobody"),
    [
        ("react", []),
        ("feed", {}),
        ("gate", {"status": "success", "message": "auto-accepted: no gate is configured here"}),
        ("decide", {"action": "continue", "reason": "no stop hook applied"}),
        ("steer", {"action": "none", "reason": "no hook answered"}),
        ("guard", {"verdict": "none"}),
    ],
)
def test_a_condition_that_is_not_met_skips_the_hook_under_every_rule(
    tmp_path: Path, rule: str, nobody: Any
) -> None:
    hook = make(rule, "touch ran", when="1 == 2")
    answer, (outcome,) = folded(tmp_path, rule, hook)
    assert outcome.status == "skipped"
    assert not (tmp_path / "ran").exists()
    assert answer == nobody
