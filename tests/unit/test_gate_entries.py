"""Built-in gates in hookline.yaml: their arguments, and who the gatekeepers are."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hookline.config.load import read_settings
from hookline.config.settings import decode
from hookline.hooks.builtin import GATES, NAMED_BUILTINS
from hookline.hooks.builtin.gates.arguments import GATE_ARGUMENTS
from hookline.hooks.builtin.gates.table import GATES as JUDGES
from hookline.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config import Problem, Settings
    from hookline.hooks.registry import Hook


def load(tmp_path: Path, text: str) -> Settings:
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    (root / "hookline.yaml").write_text(textwrap.dedent(text), encoding="utf-8")
    return read_settings(Project(str(root), str(root / ".hookline")), str(home)).settings


def gate(tmp_path: Path, entry: str, more: str = "") -> tuple[list[Hook], list[Problem]]:
    settings = load(tmp_path, f"hooks:\n  before_merge:\n    - {entry}\n{more}")
    stored = decode(msgspec.json.encode(settings))
    assert stored is not None
    assert [each.metadata for each in stored.hooks] == [each.metadata for each in settings.hooks]
    return settings.hooks, [each for each in settings.problems if each.code != "never-fires"]


def test_every_gate_has_a_judge_and_its_arguments() -> None:
    named = {name for name, points in NAMED_BUILTINS.items() if points == GATES}
    assert set(JUDGES) == set(GATE_ARGUMENTS) == named


@pytest.mark.parametrize(
    ("entry", "arguments"),
    [
        ("rebase_on_main", None),
        ("run_tests", None),
        ("run_tests: make check", {"command": "make check"}),
        (
            "run_tests: {command: make check, timeout: 20m}",
            {"command": "make check", "timeout": 1200.0},
        ),
        ("lint: 'ruff check {{worktree}}'", {"command": "ruff check {{worktree}}"}),
        ("secrets: ['tests/**']", {"allow": ["tests/**"]}),
        ("secrets: {ignore: [json-web-token]}", {"ignore": ["json-web-token"]}),
        ("diff_limits: 20", {"files": 20}),
        ("diff_limits: {lines: 500, forbid: ['*.lock']}", {"lines": 500, "forbid": ["*.lock"]}),
        ("ci_status: pending", {"without_checks": "pending"}),
        ("ci_status: {retry_after: 1m}", {"retry_after": 60.0}),
        ("human", None),
        ("human: Does it look right?", {"question": "Does it look right?"}),
    ],
)
def test_arguments_are_kept_as_they_are_meant(tmp_path: Path, entry: str, arguments: Any) -> None:
    (hook,), problems = gate(tmp_path, entry)
    assert problems == []
    assert hook.metadata == ({} if arguments is None else {"arguments": arguments})


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("rebase_on_main: now", "no-arguments"),
        ("create_pr: {draft: true}", "no-arguments"),
        ("run_tests: [a, b]", "wrong-type"),
        ("run_tests: true", "wrong-type"),
        ("human: true", "wrong-type"),
        ("ci_status: {without_checks: true}", "unknown-value"),
        ("run_tests: {comand: x}", "unknown-key"),
        ("run_tests: {command: x, timeout: 2d}", "wrong-type"),
        ("run_tests: 'pytest {{nobody}}'", "unknown-variable"),
        ("secrets: {ignore: [github-tokn]}", "unknown-value"),
        ("diff_limits", "empty"),
        ("diff_limits: {}", "empty"),
        ("diff_limits: {files: -1}", "out-of-range"),
        ("ci_status: maybe", "unknown-value"),
        ("gatekeeper", "empty"),
        ("gatekeeper: qa", "wrong-type"),
        ("gatekeeper: []", "empty"),
        ("gatekeeper: {prompt: x}", "missing-key"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(tmp_path: Path, entry: str, code: str) -> None:
    hooks, problems = gate(tmp_path, entry)
    assert [(each.code, each.severity) for each in problems] == [(code, "error")]
    assert hooks == []


def test_a_misspelt_kind_of_secret_has_a_suggestion(tmp_path: Path) -> None:
    _, (problem,) = gate(tmp_path, "secrets: {ignore: [github-tokn]}")
    assert "github-token" in problem.help


# Gatekeepers

AGENTS = """\
agents:
  qa: {driver: codex, prompt: prompts/qa.md}
  gatekeeper-design: {driver: codex}
"""


def keepers(tmp_path: Path, entry: str, more: str = AGENTS) -> list[dict[str, Any]]:
    (hook,), problems = gate(tmp_path, entry, more)
    assert problems == []
    found: list[dict[str, Any]] = hook.metadata["gatekeepers"]
    return found


def test_a_gatekeeper_is_the_profile_of_its_name_or_with_the_prefix(tmp_path: Path) -> None:
    assert keepers(tmp_path, "gatekeeper: [qa, design]") == [
        {"name": "qa", "profile": "qa", "promptFile": "prompts/qa.md"},
        {"name": "design", "profile": "gatekeeper-design"},
    ]


def test_a_prompt_of_the_gate_is_kept(tmp_path: Path) -> None:
    (hook,), _ = gate(tmp_path, "gatekeeper: {names: [qa], prompt: Be kind}", AGENTS)
    assert hook.metadata["arguments"] == {"names": ["qa"], "prompt": "Be kind"}


def test_a_gatekeeper_whom_nobody_can_be_is_a_warning(tmp_path: Path) -> None:
    hooks, (problem,) = gate(tmp_path, "gatekeeper: [qa, nobody]", AGENTS)
    assert (problem.code, problem.severity) == ("unknown-gatekeeper", "warning")
    assert "'nobody'" in problem.message
    assert hooks[0].metadata["gatekeepers"][1] == {"name": "nobody", "profile": None, "byType": {}}


TYPES = """\
task_types:
  product:
    hooks: {after_merge: [{gatekeeper: [security]}]}
    agents: {gatekeeper: [qa, ghost]}
  hotfix:
    agents: {gatekeeper: [gatekeeper-design]}
  chore: {}
"""


def test_else_the_gatekeepers_of_the_task_s_type_judge(tmp_path: Path) -> None:
    text = f"hooks:\n  before_merge: [{{gatekeeper: [security]}}]\n{TYPES}{AGENTS}"
    settings = load(tmp_path, text)
    assert "unknown-gatekeeper" not in [each.code for each in settings.problems]
    everywhere = {"product": ["qa"], "hotfix": ["gatekeeper-design"]}
    (hook,) = settings.hooks
    assert hook.metadata["gatekeepers"] == [
        {"name": "security", "profile": None, "byType": everywhere}
    ]
    (own,) = settings.type_hooks["product"]["after_merge"]
    assert own.metadata["gatekeepers"] == [
        {"name": "security", "profile": None, "byType": {"product": ["qa"]}}
    ]
