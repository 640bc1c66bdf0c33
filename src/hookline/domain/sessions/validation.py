"""Validation rules: what is checked after an iteration, and the findings.

A rule comes from the configuration or from an agent, so nothing of it is taken on trust.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hookline import typed
from hookline.domain.payloads import ValidationResult
from hookline.errors import BadInput

DAY = 86_400
MAX_RULES = 64
# Some patterns take their time to be compiled already; this bounds it.
MAX_PATTERN = 1000
PATTERN_FLAGS = re.MULTILINE

RuleType = Literal["command", "content_pattern", "coverage", "file_existence", "custom"]
_Line = Annotated[str, Meta(min_length=1, max_length=32_768)]
_Name = Annotated[str, Meta(min_length=1, max_length=200)]
_Path = Annotated[str, Meta(min_length=1, max_length=4096)]

_NEEDED: Mapping[str, str] = {
    "command": "command",
    "content_pattern": "pattern",
    "coverage": "minimum",
    "file_existence": "files",
    "custom": "python",
}
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class ValidationRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check of the agent's work.

    `command`: a shell line that ends with 0. `content_pattern`: a regular expression found in
    `files`, or in what the agent said. `coverage`: at least `minimum` per cent in `report`,
    which `command` makes first. `file_existence`: all `files` are there. `custom`: a function.
    With `follow`, the agent may edit the test files that the command names.
    """

    name: _Name
    type: RuleType
    command: _Line | None = None
    pattern: _Line | None = None
    files: Annotated[tuple[_Path, ...], Meta(max_length=256)] = ()
    report: _Path | None = None
    minimum: Annotated[float, Meta(ge=0, le=100)] | None = None
    python: _Name | None = None
    timeout: Annotated[float, Meta(gt=0, le=DAY)] | None = None
    follow: bool = False


class RuleFinding(ValidationResult, kw_only=True):
    """A rule's finding with what a receipt needs: what ran, how it ended, how long it took."""

    type: RuleType
    command: str | None = None
    exit_code: int | None = None
    duration_ms: int = 0
    coverage: float | None = None


def rule_from(given: Mapping[str, Any]) -> ValidationRule:
    """A rule as hookline.yaml or an agent writes it, or BadInput that says what to fix.

    Agents may put everything besides name and type into `config`.
    """
    if not isinstance(given, Mapping):
        raise BadInput("a validation rule is an object with name and type", help=_EXAMPLE)
    flat = _flat(given)
    try:
        rule = typed.convert(flat, ValidationRule)
    except msgspec.ValidationError as problem:
        is_known = flat.get("type") in (None, *_NEEDED)
        help = _EXAMPLE if is_known else f"type can be {', '.join(_NEEDED)}"
        raise BadInput(f"{_called(given)}: {problem}", help=help) from problem
    wrong = _problem(rule) or _text_problem(rule)
    if wrong is not None:
        raise BadInput(f"{_called(given)}: {wrong}", help=_EXAMPLE)
    return rule


def rules_from(given: Iterable[Mapping[str, Any]]) -> list[ValidationRule]:
    """Rules in their order; their names must differ."""
    rules: dict[str, ValidationRule] = {}
    for each in given:
        rule = rule_from(each)
        if rule.name in rules:
            raise BadInput(
                f"two validation rules are called {rule.name!r}", help="give one another name"
            )
        rules[rule.name] = rule
        if len(rules) > MAX_RULES:
            raise BadInput(f"there are more than {MAX_RULES} validation rules")
    return list(rules.values())


def pattern_problem(pattern: str) -> str | None:
    """Why a text cannot be used as a regular expression, if it cannot."""
    if len(pattern) > MAX_PATTERN:
        return f"the pattern is longer than {MAX_PATTERN} characters"
    try:
        with warnings.catch_warnings():  # what a later Python reads differently works in this one
            warnings.simplefilter("ignore")
            re.compile(pattern, PATTERN_FLAGS)
    except (re.error, OverflowError, RecursionError) as problem:
        return f"the pattern is not a regular expression: {problem}"
    return None


_EXAMPLE = 'write it like {"name": "tests_pass", "type": "command", "command": "pytest -q"}'


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    nested = given.get("config")
    if nested is None:
        nested = {}
    if not isinstance(nested, Mapping):
        raise BadInput(f"{_called(given)}: config must be an object", help=_EXAMPLE)
    own = {key: value for key, value in given.items() if key != "config"}
    twice = sorted(own.keys() & nested.keys())
    if twice:
        raise BadInput(f"{_called(given)}: {twice[0]!r} is set both in config and next to it")
    flat = {**own, **nested}
    unknown = sorted(str(key) for key in flat.keys() - set(ValidationRule.__struct_fields__))
    if unknown:
        help = f"known keys: {', '.join(ValidationRule.__struct_fields__)}"
        raise BadInput(f"{_called(given)}: there is no key {unknown[0][:80]!r}", help=help)
    return flat


def _called(given: Mapping[str, Any]) -> str:
    name = given.get("name")
    return f"validation rule {name[:80]!r}" if isinstance(name, str) else "a validation rule"


def _problem(rule: ValidationRule) -> str | None:
    needed = _NEEDED[rule.type]
    if getattr(rule, needed) in (None, ()):
        return f"a rule of type {rule.type} needs {needed!r}"
    for path in (*rule.files, *([rule.report] if rule.report else [])):
        if wrong := _path_problem(path):
            return wrong
    if rule.python is not None and (wrong := _function_problem(rule.python)):
        return wrong
    if rule.command is not None and "\0" in rule.command:
        return "a command cannot contain a NUL character"
    return pattern_problem(rule.pattern) if rule.pattern is not None else None


def _path_problem(path: str) -> str | None:
    if path.startswith(("/", "~")):
        return f"{path!r} must be a path within the project, such as src/app.py"
    if ".." in path.split("/"):
        return f"{path!r} leaves the project: '..' is not allowed"
    if "\0" in path:
        return f"{path!r} is not a file name"
    return None


def _function_problem(target: str) -> str | None:
    if _FUNCTION.fullmatch(target):
        return None
    return f"{target!r} does not name a function: write module:function, such as checks:licence"


def _text_problem(rule: ValidationRule) -> str | None:
    try:
        msgspec.json.encode(rule)
    except UnicodeEncodeError:
        return "its text contains an incomplete Unicode character"
    return None
