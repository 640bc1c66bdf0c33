"""Values that become code or options by a second word of the line: a file, or a variable."""

from __future__ import annotations

import pytest

from hookline.errors import HookFailure
from hookline.hooks.language.templates import compile_line, fill_line, option_warnings
from hookline.points import VARIABLES

NAMES = tuple(VARIABLES)


def problems(line: str) -> list[str]:
    return [each.message for each in compile_line(line, VARIABLES)[1]]


@pytest.mark.parametrize(
    "line",
    [
        "printf {{error}} > f; sh f",
        "printf {{error}} >f && ./f",
        "printf %s {{error}} >> ./run.sh; bash run.sh",
        "{ echo '#!/bin/sh'; echo {{error}}; } > f; chmod +x f; ./f",
        "(echo {{error}}) > f; . ./f",
        "exec > f; echo {{error}}; sh f",
        "echo {{error}} | tee f; python3 f",
        "f=$(mktemp); echo {{error}} > $f; sh $f",
        'f=$(mktemp); echo {{error}} > "$f"; sh "$f"',
    ],
)
def test_text_in_a_file_that_the_line_runs_is_refused(line: str) -> None:
    assert problems(line) == [
        "{{error}} is free text and cannot be part of text that the line "
        "writes into a file and runs"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "printf {{error}} > log; sh notify.sh",
        "printf %s {{error}} >> log && ./notify",
        "echo {{error}} > /dev/null 2>&1; sh f",
        "f=$(mktemp); echo {{error}} > $f; cat $f",
        "echo {{error}} | tee log; sh notify.sh",
    ],
)
def test_text_in_other_files_is_not(line: str) -> None:
    assert problems(line) == []


# A line, a value that becomes an option in it, and one that does not.
THROUGH_VARIABLES = [
    ("x={{error}}; ls $x", "a -R", "a b"),
    ("x={{error}}; ls ${x}", "-R", "R"),
    ('x={{error}}; ls "$x"', "-R", "a -R"),
    ("x={{error}}; y=$x; ls $y", "a -R", "a"),
    ("x=$(date){{error}}; ls $x", "a -R", "a"),
    ("for i in {{error}}; do ls $i; done", "a -R", "a"),
    ("set -- {{error}}; ls $1", "a -R", "a"),
    ('set -- {{error}}; ls "$@"', "-R", "a"),
    ("export x={{error}}; ls $x", "a -R", "a"),
]


@pytest.mark.parametrize(("line", "option", "harmless"), THROUGH_VARIABLES)
def test_a_value_that_is_an_option_through_a_variable_is_refused(
    line: str, option: str, harmless: str
) -> None:
    assert [each.code for each in option_warnings(line)] == ["option-place"]
    with pytest.raises(HookFailure, match="would be read as an option"):
        fill_line(line, NAMES, {"error": option}, options=None)
    fill_line(line, NAMES, {"error": harmless}, options=None)
    fill_line(line, NAMES, {"error": option}, options="allow")


@pytest.mark.parametrize(
    "line",
    [
        'x={{error}}; ls -- "$x"',
        "x={{error}}; a",
        "x={{error}}; y=$x; a",
        'x={{error}}; ls "a $x"',
        "x={{error}}; ls '$x'",
        "x={{error}}; ls $y",
    ],
)
def test_a_variable_that_cannot_be_an_option_is_not(line: str) -> None:
    assert list(option_warnings(line)) == []
