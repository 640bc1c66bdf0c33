"""Stop hooks in hookline.yaml: built-in ones with arguments, and chains of hooks."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hookline.config.load import read_settings
from hookline.config.settings import decode
from hookline.hooks.chains import children_of, with_children
from hookline.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config import Problem, Settings
    from hookline.hooks.registry import Hook

RULES = """
validation:
  - {name: tests_pass, type: command, command: "pytest -q"}
  - {name: lint, type: command, command: "ruff check"}
"""


def load(tmp_path: Path, text: str) -> Settings:
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    (root / "hookline.yaml").write_text(textwrap.dedent(text), encoding="utf-8")
    return read_settings(Project(str(root), str(root / ".hookline")), str(home)).settings


def stop(tmp_path: Path, entry: str) -> Settings:
    return load(tmp_path, f"{RULES}\nhooks:\n  stop:\n    - {entry}\n")


def only(tmp_path: Path, entry: str) -> Hook:
    settings = stop(tmp_path, entry)
    assert [each for each in settings.problems if each.code != "never-fires"] == []
    (found,) = settings.hooks
    return found


def problem(tmp_path: Path, entry: str, severity: str = "error") -> Problem:
    found = [
        each
        for each in stop(tmp_path, entry).problems
        if each.severity == severity and each.code != "never-fires"
    ]
    assert len(found) == 1, found
    return found[0]


def marked(tmp_path: Path, found: Problem) -> str:
    """The text that the caret stands under."""
    line = (tmp_path / "project" / "hookline.yaml").read_text("utf-8").split("\n")[found.line - 1]
    return line[found.column - 1 : found.column - 1 + found.length]


# Built-in stop hooks.


@pytest.mark.parametrize(
    ("entry", "arguments"),
    [
        ("default", None),
        ("evidence", None),
        ("evidence:", None),
        ("evidence: {checks: [tests_pass]}", {"checks": ["tests_pass"]}),
        ("evidence: [tests_pass, lint]", {"checks": ["tests_pass", "lint"]}),
        ("tdd: {rule: lint, prompt: Mend it}", {"rule": "lint", "prompt": "Mend it"}),
        ("checkpoint: 7", {"iteration": 7}),
        ("max-iterations: 3", {"iterations": 3}),
        ("files-changed: ['src/**']", {"files": ["src/**"]}),
        (
            "security-remediation: {iterations: 4, checks: [lint]}",
            {"iterations": 4, "checks": ["lint"]},
        ),
        ("coverage: {rule: lint, minimum: 80}", {"rule": "lint", "minimum": 80.0}),
    ],
)
def test_a_built_in_takes_arguments(tmp_path: Path, entry: str, arguments: Any) -> None:
    found = only(tmp_path, entry)
    assert (found.kind, found.target) == ("built-in", entry.partition(":")[0])
    assert found.metadata.get("arguments") == arguments


@pytest.mark.parametrize(
    ("entry", "code", "where"),
    [
        ("default: 3", "no-arguments", "3"),
        ("checkpoint: {iterations: 3}", "unknown-key", "iterations"),
        ("checkpoint: 0", "out-of-range", "0"),
        ("max-iterations: many", "wrong-type", "many"),
        ("coverage: 101", "out-of-range", "101"),
        ("security-remediation: {checks: []}", "empty", "["),
        ("tdd: ''", "empty", "''"),
        ("tddd", "unknown-built-in", "tddd"),
    ],
)
def test_arguments_that_do_not_fit_are_marked(
    tmp_path: Path, entry: str, code: str, where: str
) -> None:
    found = problem(tmp_path, entry)
    assert (found.code, marked(tmp_path, found)) == (code, where)


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        ("evidence: [test_pass]", "test_pass"),
        ("coverage", "coverage"),
        ("tdd: unit", "unit"),
        ("all_of: [{evidence: [test_pass]}]", "test_pass"),
    ],
)
def test_a_rule_that_nobody_defined_is_a_warning(tmp_path: Path, entry: str, rule: str) -> None:
    found = problem(tmp_path, entry, "warning")
    assert found.code == "unknown-rule"
    assert rule in found.message
    assert found.consequence == "this hook would never complete"


@pytest.mark.parametrize("entry", ["evidence", "validation"])
def test_deciding_on_rules_without_any_is_a_warning(tmp_path: Path, entry: str) -> None:
    settings = load(tmp_path, f"hooks:\n  stop: [{entry}]\n")
    assert "unknown-rule" in [each.code for each in settings.problems]
    assert not settings.has_errors


# Chains.


def test_a_chain_holds_hooks_of_every_kind(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "check").write_text("#!/bin/sh\n")
    (root / "check").chmod(0o755)
    settings = load(
        tmp_path,
        RULES
        + """
agents: {judge: {driver: command, command: "cat"}}
hooks:
  stop:
    - name: done
      timeout: 60
      all_of:
        - validation
        - {command: "pytest -q", when: "iteration > 2", timeout: 5s, env: {A: b}}
        - {python: "mine:judge", name: judged}
        - {script: check, enabled: false}
        - {http: "https://example.org/stop"}
        - {agent: judge, prompt: "Is it done?"}
        - not: {max-iterations: 4}
        - any_of: [promise, {tdd: lint}]
""",
    )
    assert not settings.has_errors, settings.problems
    (parent,) = settings.hooks
    assert (parent.name, parent.kind, parent.target, parent.timeout) == (
        "done",
        "built-in",
        "all_of",
        60,
    )
    assert [(each.name, each.kind) for each in with_children([parent])][1:] == [
        ("stop[0].all_of[0]:validation", "built-in"),
        ("stop[0].all_of[1]:pytest", "command"),
        ("judged", "python"),
        ("stop[0].all_of[3]:check", "script"),
        ("stop[0].all_of[4]:example.org", "http"),
        ("stop[0].all_of[5]:judge", "agent"),
        ("stop[0].all_of[6]:not", "built-in"),
        ("stop[0].all_of[6].not[0]:max-iterations", "built-in"),
        ("stop[0].all_of[7]:any_of", "built-in"),
        ("stop[0].all_of[7].any_of[0]:promise", "built-in"),
        ("stop[0].all_of[7].any_of[1]:tdd", "built-in"),
    ]
    command, script = children_of(parent)[1], children_of(parent)[3]
    assert (command.when, command.timeout, command.env) == ("iteration > 2", 5, {"A": "b"})
    assert command.origin == "hookline.yaml:13"
    assert (script.target, script.enabled) == (str(root / "check"), False)


def test_a_chain_survives_the_cache(tmp_path: Path) -> None:
    settings = stop(tmp_path, 'all_of: [{not: {command: "exit 1", timeout: 3}}, {tdd: lint}]')
    cached = decode(msgspec.json.encode(settings))
    assert cached is not None
    before, after = (list(with_children(each.hooks)) for each in (settings, cached))
    assert before == after
    assert [each.target for each in after] == ["all_of", "not", "exit 1", "tdd"]


def test_a_chain_may_stand_in_a_task_type(tmp_path: Path) -> None:
    settings = load(tmp_path, "task_types:\n  docs: {hooks: {stop: [{not: promise}]}}\n")
    assert not settings.has_errors
    (found,) = settings.type_hooks["docs"]["stop"]
    assert [each.name for each in with_children([found])] == [
        "docs/stop[0]:not",
        "docs/stop[0].not[0]:promise",
    ]


def test_one_hook_may_serve_two_chains_through_an_alias(tmp_path: Path) -> None:
    entry = "all_of: [&t {name: tests, command: make}]\n    - any_of: [*t, promise]"
    settings = stop(tmp_path, entry)
    assert not settings.has_errors, settings.problems
    assert [children_of(each)[0].name for each in settings.hooks] == ["tests", "tests"]


@pytest.mark.parametrize(
    ("entry", "code", "where"),
    [
        ("all_of: []", "empty", "["),
        ("any_of:", "empty", ""),
        ("all_of", "empty", "all_of"),
        ("all_of: tdd", "wrong-type", "tdd"),
        ("any_of: {command: make}", "wrong-type", "{"),
        ("not: [promise, tdd]", "one-hook", "["),
        ("not: []", "empty", "["),
        ("all_of: [validation, valdation]", "unknown-built-in", "valdation"),
        ("all_of: [{command: 'echo {{nope}}'}]", "unknown-variable", "{{nope}}"),
        ("all_of: [{command: make, when: 'nope > 1'}]", "bad-condition", "'nope > 1'"),
        ("all_of: [{name: a}, promise]", "unknown-built-in", "a"),
        ("all_of: [[promise]]", "wrong-type", "["),
        ("all_of: [run_tests]", "misplaced-built-in", "run_tests"),
        ("any_of: [{all_of: [{not: }]}]", "empty", ""),
        ("{all_of: [promise], command: make}", "one-act", "command"),
        ("all_of: [{agent: nobody, prompt: x}]", "unknown-agent", "nobody"),
        ("all_of: [{command: make, name: x}, {command: make, name: x}]", "duplicate-name", "x"),
    ],
)
def test_what_is_wrong_in_a_chain_is_marked(
    tmp_path: Path, entry: str, code: str, where: str
) -> None:
    found = problem(tmp_path, entry)
    assert found.code == code
    assert marked(tmp_path, found).startswith(where)
    assert (found.file, found.line) == ("hookline.yaml", 8)


def test_a_chain_stands_at_stop_only(tmp_path: Path) -> None:
    settings = load(tmp_path, "hooks:\n  before_submit: [{all_of: [run_tests, lint]}]\n")
    found = [each for each in settings.problems if each.severity == "error"]
    assert [each.code for each in found] == ["misplaced-built-in"]


def test_a_priority_in_a_chain_has_no_effect_and_says_so(tmp_path: Path) -> None:
    found = problem(tmp_path, "all_of: [{command: make, priority: 1}]", "warning")
    assert (found.code, marked(tmp_path, found)) == ("no-effect", "priority")


def test_chains_are_bounded(tmp_path: Path) -> None:
    deep = "promise"
    for _ in range(9):
        deep = f"{{not: {deep}}}"
    assert problem(tmp_path, deep).code == "too-deep"
    wide = ", ".join(["promise"] * 33)
    assert problem(tmp_path, f"all_of: [{wide}]").code == "too-many"
    assert only(tmp_path, f"all_of: [{', '.join(['promise'] * 32)}]").target == "all_of"
