"""`hookline validate`: the configured rules, run by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

RULES = """validation:
  - {name: tests_pass, type: command, command: "echo 2 failed; exit 1"}
  - {name: readme, type: file_existence, files: [README.md]}
  - {name: covered, type: coverage, report: lcov.info, minimum: 80}
  - {name: said, type: content_pattern, pattern: "^All done"}
"""


@pytest.fixture
def project(cli: Cli) -> Cli:
    cli.put("README.md", "hello")
    cli.put("lcov.info", "SF:a\nDA:1,1\nDA:2,0\nend_of_record\n")
    cli.configure(RULES)
    return cli


def test_every_rule_is_shown_and_a_failure_is_the_exit_code(project: Cli) -> None:
    result = project("validate")
    assert result.code == 1
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines if line[0] in "✓✗"] == [
        ["✗", "tests_pass"],
        ["✓", "readme"],
        ["✗", "covered"],
        ["✗", "said"],
    ]
    assert "    │ 2 failed" in lines
    assert "50 % of the lines are covered, at least 80 % are required (lcov.info)" in result.stdout
    assert lines[-1] == "1 of 4 rules passed"


def test_findings_as_json(project: Cli) -> None:
    result = project("validate", "tests_pass", "readme", "--json")
    assert result.code == 1
    tests, readme = result.json
    del tests["durationMs"]
    assert tests == {
        "ruleName": "tests_pass",
        "passed": False,
        "message": "exit code 1\n2 failed",
        "type": "command",
        "command": "echo 2 failed; exit 1",
        "exitCode": 1,
        "coverage": None,
    }
    assert (readme["ruleName"], readme["passed"]) == ("readme", True)


def test_what_passes_ends_well(project: Cli) -> None:
    assert project("validate", "readme").code == 0
    said = project("validate", "said", "--output", "-", stdin="So.\nAll done.\n")
    assert (said.code, said.stdout.splitlines()[-1]) == (0, "1 of 1 rule passed")


def test_an_unknown_rule_is_refused(project: Cli) -> None:
    code, error = project.refused("validate", "tests")
    assert (code, error["message"]) == (2, "there is no validation rule 'tests'")
    assert error["help"] == "there are tests_pass, readme, covered, said"


def test_without_rules_nothing_is_said_to_pass(cli: Cli) -> None:
    code, error = cli.refused("validate")
    assert (code, error["code"]) == (2, "bad-input")
    assert error["message"] == "no validation rules are configured, so nothing was checked"


def test_rules_of_a_repository_run_only_when_it_is_trusted(cli: Cli) -> None:
    cli.configure('validation: [{name: a, type: command, command: "touch ran"}]', trust=False)
    code, error = cli.refused("validate")
    assert (code, error["code"]) == (2, "untrusted")
    assert not (cli.root / "ran").exists()


def test_a_broken_configuration_runs_nothing(cli: Cli) -> None:
    cli.configure("validation: [{name: a, type: file_existence, files: [/etc/passwd]}]")
    code, error = cli.refused("validate")
    assert (code, error["code"]) == (2, "bad-configuration")


def test_hostile_output_cannot_forge_a_line(cli: Cli) -> None:
    cli.configure(
        r"""validation: [{name: a, type: command, command: "printf 'x\\033[2J\\ry\\n'; exit 1"}]"""
    )
    result = cli("validate")
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout
