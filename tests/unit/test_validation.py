"""Validation rules as people and agents write them, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hookline.config.types import Validation
from hookline.domain.sessions.validation import MAX_RULES, ValidationRule, rule_from, rules_from
from hookline.errors import BadInput

TESTS = {"name": "tests_pass", "type": "command", "command": "pytest -q"}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (TESTS, ValidationRule(name="tests_pass", type="command", command="pytest -q")),
        (
            {"name": "tests_pass", "type": "command", "config": {"command": "pytest -q"}},
            ValidationRule(name="tests_pass", type="command", command="pytest -q"),
        ),
        (
            {**TESTS, "timeout": 30, "config": None},
            ValidationRule(name="tests_pass", type="command", command="pytest -q", timeout=30.0),
        ),
        (
            {"name": "said", "type": "content_pattern", "pattern": "^done"},
            ValidationRule(name="said", type="content_pattern", pattern="^done"),
        ),
        (
            {"name": "c", "type": "coverage", "config": {"minimum": 80, "report": "cov.xml"}},
            ValidationRule(name="c", type="coverage", minimum=80.0, report="cov.xml"),
        ),
        (
            {"name": "docs", "type": "file_existence", "files": ["docs/", "src/**/*.py"]},
            ValidationRule(name="docs", type="file_existence", files=("docs/", "src/**/*.py")),
        ),
        (
            {"name": "own", "type": "custom", "python": "checks.all:licence"},
            ValidationRule(name="own", type="custom", python="checks.all:licence"),
        ),
    ],
)
def test_rule_is_read(given: dict[str, Any], rule: ValidationRule) -> None:
    assert rule_from(given) == rule


def test_rule_of_the_configuration_is_read() -> None:
    written = Validation(name="t", type="command", command="make test", timeout=90.0)
    assert rule_from(msgspec.to_builtins(written)) == ValidationRule(
        name="t", type="command", command="make test", timeout=90.0
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("pytest -q", "a validation rule is an object with name and type"),
        ({"type": "command", "command": "x"}, "missing required field `name`"),
        ({"name": "a", "command": "x"}, "'a': .*missing required field `type`"),
        ({"name": "a", "type": "shell", "command": "x"}, "'a': Invalid enum value 'shell'"),
        ({"name": "a", "type": "command"}, "a rule of type command needs 'command'"),
        ({"name": "a", "type": "content_pattern"}, "needs 'pattern'"),
        ({"name": "a", "type": "coverage"}, "needs 'minimum'"),
        ({"name": "a", "type": "file_existence", "files": []}, "needs 'files'"),
        ({"name": "a", "type": "custom"}, "needs 'python'"),
        ({**TESTS, "expected": 0}, "there is no key 'expected'"),
        ({**TESTS, "config": {"comand": "x"}}, "there is no key 'comand'"),
        ({**TESTS, "config": "x"}, "config must be an object"),
        ({**TESTS, "config": {"command": "x"}}, "'command' is set both in config and next to it"),
        ({**TESTS, "command": ["pytest"]}, "Expected `str.*`, got `array`"),
        ({**TESTS, "command": "x" * 40_000}, "length <= 32768"),
        ({**TESTS, "command": "a\0b"}, "NUL character"),
        ({**TESTS, "command": "\ud800"}, "incomplete Unicode character"),
        ({**TESTS, "timeout": 0}, "> 0"),
        ({**TESTS, "timeout": 1e9}, "<= 86400"),
        ({"name": "a", "type": "coverage", "minimum": 101}, "<= 100"),
        ({"name": "a", "type": "content_pattern", "pattern": "("}, "not a regular expression"),
        ({"name": "a", "type": "content_pattern", "pattern": "(" * 1_000}, "not a regular"),
        (
            {"name": "a", "type": "content_pattern", "pattern": "x" * 1_001},
            "longer than 1000 characters",
        ),
        ({"name": "a", "type": "content_pattern", "pattern": "a{99999999999}"}, "not a regular"),
        ({"name": "a", "type": "file_existence", "files": ["/etc/passwd"]}, "within the project"),
        ({"name": "a", "type": "file_existence", "files": ["a/../../b"]}, "leaves the project"),
        ({"name": "a", "type": "file_existence", "files": ["~/x"]}, "within the project"),
        ({"name": "a", "type": "coverage", "minimum": 1, "report": "../x"}, "leaves the project"),
        ({"name": "a", "type": "custom", "python": "checks"}, "does not name a function"),
        ({"name": "a", "type": "custom", "python": "os; x:y"}, "does not name a function"),
    ],
)
def test_rule_is_refused_with_what_to_mend(given: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why) as problem:
        rule_from(given)
    assert len(problem.value.message) < 5000


def test_a_type_that_is_not_there_is_told_what_there_is() -> None:
    with pytest.raises(BadInput) as problem:
        rule_from({"name": "a", "type": "lint"})
    wanted = "type can be command, content_pattern, coverage, file_existence, custom"
    assert problem.value.help == wanted


def test_a_pattern_that_python_warns_about_works() -> None:
    assert rule_from({"name": "a", "type": "content_pattern", "pattern": "[[a]"}).pattern == "[[a]"


def test_rules_keep_their_order_and_have_names_of_their_own() -> None:
    assert [rule.name for rule in rules_from([{**TESTS, "name": n} for n in "bca"])] == [*"bca"]
    with pytest.raises(BadInput, match="two validation rules are called 'tests_pass'"):
        rules_from([TESTS, TESTS])
    with pytest.raises(BadInput, match=f"more than {MAX_RULES}"):
        rules_from({**TESTS, "name": str(number)} for number in range(MAX_RULES + 1))
