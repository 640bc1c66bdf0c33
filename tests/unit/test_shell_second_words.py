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


@pytest.mark.parametrize(
    "line",
    [
        'A={{error}}; echo "$A" | sh',
        "env A={{error}} sh -c 'echo $A | sh'",
        "A={{error}} sh -c 'printf %s \"$A\" | bash'",
        "A={{error}}; echo $A > x.sh; sh x.sh",
        "A={{error}}; echo $A | tee x.sh; sh x.sh",
        "A={{error}}; echo $A | dd of=x.sh; sh x.sh",
        "A={{error}}; echo $A > f; sh < f",
        "A={{error}}; echo $A > >(sh)",
        "A={{error}} sh -c 'echo $A | tee f | sh'",
        "A={{error}} sh -c 'echo $A > y.sh; sh y.sh'",
        "A={{error}} sh -c 'echo $A | xargs -I{} sh -c {}'",
        "A={{error}}; echo `echo $A` | sh",
        "A={{error}} ruby -e 'exec ENV[\"A\"]'",
        "A={{error}}; coproc sh; echo $A >&${COPROC[1]}",
        "export A={{error}}; printenv A | sh",
        "export A={{error}}; sh -c 'env | sh'",
        "for i in {{error}}; do echo $i | sh; done",
        'set -- {{error}}; echo "$1" | ssh host',
        "printf -v A %s {{error}}; eval $A",
        'true {{error}}; eval "$_"',
    ],
)
def test_text_in_a_variable_that_the_line_runs_is_refused(line: str) -> None:
    assert problems(line) == [
        "{{error}} is free text and cannot be part of text that the line evaluates later"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "echo {{error}} > f; sh < f",
        "echo {{error}} > f; cat f | sh",
        'echo {{error}} > f; eval "$(cat f)"',
        'echo {{error}} > f; A=`cat f`; eval "$A"',
        'echo {{error}} > f; sh <<< "$(cat f)"',
        'echo {{error}} > f; while read l; do eval "$l"; done < f',
        "mkfifo p; sh < p & echo {{error}} > p",
        "echo {{error}} | dd of=x.sh; sh x.sh",
        "echo {{error}} | { cat > x.sh; sh x.sh; }",
        "echo {{error}} > >(sh)",
    ],
)
def test_text_in_a_file_that_the_line_reads_code_from_is_refused(line: str) -> None:
    assert problems(line) == [
        "{{error}} is free text and cannot be part of text that the line "
        "writes into a file and runs"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "echo {{error}} | sh -c 'cat > x.sh; sh x.sh'",
        "echo {{error}} | sh -c 'tee x.sh; sh x.sh'",
    ],
)
def test_text_that_a_line_within_the_line_stores_and_runs_is_refused(line: str) -> None:
    assert problems(line) == [
        "{{error}} is free text and cannot be part of text that the line "
        "pipes into a program that runs it"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "git config core.pager {{error}}",
        "git config --global core.sshCommand {{error}}; git fetch",
    ],
)
def test_text_that_becomes_a_command_of_git_is_refused(line: str) -> None:
    assert problems(line) == [
        "{{error}} is free text and cannot be part of the value of an option that takes code"
    ]


@pytest.mark.parametrize(
    "line",
    [
        'A={{error}}; echo "$A" > log; sh notify.sh',
        'A={{error}}; echo "$A" | grep x',
        'A={{error}}; echo "$A" | sh notify.sh',
        "A={{error}}; curl -s http://localhost | sh",
        "A={{error}} sh -c 'echo \"$A\" > log; sh notify.sh'",
        "A={{error}}; echo $A > f; cat f",
        'printf -v A %s {{error}}; echo "$A"',
        "echo {{error}} > log; cat other | sh",
        "echo {{error}} > log; eval $X",
        "true {{error}}; echo $_",
        "git config user.name {{error}}",
    ],
)
def test_text_that_the_line_only_shows_is_not(line: str) -> None:
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
