"""Problems as they are printed, and the schema that editors read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.config.reading.problems import Problem
from hookline.config.reading.render import github, render
from hookline.config.schema import json_schema
from hookline.points import POINTS

if TYPE_CHECKING:
    from pathlib import Path


def problem(**fields: Any) -> Problem:
    given = {
        "code": "unknown-point",
        "severity": "error",
        "message": "no hook point named 'post_iteratoin'",
        "file": "hookline.yaml",
        "line": 12,
        "column": 3,
        "length": 14,
        "consequence": "this hook would never run",
        "help": "did you mean 'post_iteration'? `hookline points` lists them all",
        **fields,
    }
    return Problem(**given)


def test_a_problem_looks_like_a_compiler_message(tmp_path: Path) -> None:
    (tmp_path / "hookline.yaml").write_text("\n" * 11 + "  post_iteratoin:\n")
    assert render([problem()], str(tmp_path)) == (
        "error[unknown-point]: no hook point named 'post_iteratoin'\n"
        "  --> hookline.yaml:12:3\n"
        "   |\n"
        "12 |   post_iteratoin:\n"
        "   |   ^^^^^^^^^^^^^^ this hook would never run\n"
        "   = help: did you mean 'post_iteration'? `hookline points` lists them all\n"
        "\n"
        "1 error"
    )


def test_a_problem_of_a_whole_file_has_no_line(tmp_path: Path) -> None:
    whole = problem(line=0, column=0, length=0, file=".hookline/hooks/stop/a", help="chmod +x a")
    assert render([whole, problem(severity="warning")], str(tmp_path)).startswith(
        "error[unknown-point]: no hook point named 'post_iteratoin'\n"
        " --> .hookline/hooks/stop/a\n"
        "  | this hook would never run\n"
        "  = help: chmod +x a\n"
    )


def test_the_last_line_counts(tmp_path: Path) -> None:
    found = [problem(), problem(line=13), problem(severity="warning")]
    assert render(found, str(tmp_path)).split("\n")[-1] == "2 errors, 1 warning"


def test_colour_only_when_asked(tmp_path: Path) -> None:
    assert "\x1b[" not in render([problem()], str(tmp_path))
    assert "\x1b[1;31merror[unknown-point]\x1b[0m" in render(
        [problem()], str(tmp_path), colour=True
    )


def test_control_characters_of_a_file_never_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "hookline.yaml").write_text("a: \x1b[2J\n")
    hostile = problem(line=1, column=4, length=1, message="bad \x1b[31m", help="x\ny")
    text = render([hostile], str(tmp_path))
    assert "\x1b" not in text
    assert "\\x1b[2J" in text


def test_wide_characters_and_tabs_keep_the_caret_in_place(tmp_path: Path) -> None:
    (tmp_path / "hookline.yaml").write_text("日本\tx\n", encoding="utf-8")
    lines = render([problem(line=1, column=4, length=1)], str(tmp_path)).split("\n")
    assert lines[3] == "1 | 日本 x"
    assert lines[4] == "  |      ^ this hook would never run"


def test_a_very_long_line_is_cut_around_its_place(tmp_path: Path) -> None:
    (tmp_path / "hookline.yaml").write_text("a" * 50_000 + "HERE" + "b" * 50_000)
    text = render([problem(line=1, column=50_001, length=4)], str(tmp_path))
    assert "HERE" in text
    assert len(text) < 1000


def test_workflow_commands_are_escaped() -> None:
    line = github(problem(message="50%\nlost", help="", file="a,b:c.yaml"))
    assert line == ("::error file=a%2Cb%3Ac.yaml,line=12,col=3,title=unknown-point::50%25%0Alost")


def test_the_schema_knows_points_built_ins_and_values() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    definitions = schema["$defs"]
    points = definitions["Hooks"]["properties"]
    assert set(points) == set(POINTS)
    assert points["stop"]["description"] == POINTS["stop"].doc
    entry = definitions["Entry"]
    assert entry["properties"]["on_failure"]["anyOf"][0]["enum"] == ["ask", "closed", "open"]
    assert "gatekeeper" in entry["properties"]
    assert entry["additionalProperties"] is False
    assert "rebase_on_main" in definitions["HookList"]["items"]["anyOf"][0]["enum"]
    assert all(
        "description" in field or "$ref" in field or "anyOf" in field
        for field in entry["properties"].values()
    )
