from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.hooks.frames import LARGEST_VALUE, environment
from hookline.hooks.language.templates import compile_line
from hookline.points import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMES = ("task_content", "error", "agent", "iteration")
HOSTILE = st.sampled_from(
    ["pwn", "$(pwn)", "`pwn`", ";pwn;", "a[$(pwn)]", "'\";pwn;\"'", "\npwn\n"]
)

# Braces are left out, because they could make a reference of their own.
characters = st.characters(exclude_characters="\0{}", exclude_categories=["Cs"])
values = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


class Piece(NamedTuple):
    """Part of a word as it is written: what it stands for is its text, then a variable's value."""

    written: str
    text: str
    name: str


@st.composite
def pieces(draw: st.DrawFn) -> Piece:
    style = draw(st.sampled_from(["bare", "double", "single"]))
    name = draw(st.sampled_from(NAMES))
    reference = f"{{{{{name}}}}}"
    if style == "bare":
        text = draw(st.text("abcXYZ019_./,:%+-", max_size=5))
        return Piece(f"{text}{reference}", text, name)
    text = draw(st.text(characters, max_size=8))
    if style == "double":
        escaped = "".join(f"\\{sign}" if sign in '\\$`"' else sign for sign in text)
        return Piece(f'"{escaped}{reference}"', text, name)
    # A quote would end it, and a backslash would make the reference plain text.
    text = text.replace("'", "").rstrip("\\")
    return Piece(f"'{text}{reference}'", text, name)


words = st.lists(pieces(), min_size=1, max_size=3)

FRAGMENTS = [
    *("{{error}}", '"{{error}}"', "'{{error}}'", "x={{error}}", "{{iteration}}", "echo", "eval"),
    *("sh", "-c", "-s", "cat", "x=1", "$x", '"$x"', "$(", ")", "`", '"', "'", "(", "{", "}", ";"),
    *("&", "&&", "|", "||", "!", "\n", "\\\n", "#", "<<E", "\nE\n", "<<<", "> x", "$((", "))"),
    *("${x:-", "if", "then", "fi", "for x in", "do", "done", "case", "in", "a)", ";;", "esac"),
    *("f()", "f", "[[", "]]", "set --", "export", "env", "exec", "command", "time", "a", "-n"),
]
lines = st.lists(st.sampled_from(FRAGMENTS), max_size=9).map(" ".join)
# Nearly every line of these is complete shell.
framed = st.builds(
    str.format,
    st.sampled_from(
        [
            "{0} {1} {2}",
            "{0} {1}; {2} {3}",
            "{0} {1} | {2} {3}",
            "{0} && {{ {1} {2}; }}",
            "if {0} {1}; then {2} {3}; fi",
            "for x in {0} {1}; do {2} {3}; done",
            "case {0} in {1}) {2} {3};; esac",
            "f() {{ {0} {1}; }}; {2} {3}",
            "{0} $({1} {2}) {3}",
            "cat <<E\n{0} {1}\nE\n{2} {3}",
        ]
    ),
    *[
        st.sampled_from(
            [*FRAGMENTS[:10], *("x", "$x", '"$x"', "f", ".", "a", "-n", "time", "set --", "env")]
        )
    ]
    * 4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs: `arguments` prints its own, `pwn` leaves a trace."""
    path = tmp_path_factory.mktemp("programs")
    programs = {
        "arguments": "for each; do printf '%s\\0' \"$each\"; done",
        "pwn": f"echo > '{path}/trace'",
        "cat": 'exec /bin/cat "$@"',
        "sh": 'exec /bin/sh "$@"',
    }
    for name, code in programs.items():
        (path / name).write_text(f"#!/bin/sh\n{code}\n")
        (path / name).chmod(0o755)
    (path / "work").mkdir()
    return path


def run(line: str, env: Mapping[str, str], folder: Path) -> bytes:
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder / "work",
        env={"PATH": str(folder), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout


@given(st.lists(words, min_size=1, max_size=5), st.lists(values, min_size=4, max_size=4))
def test_the_words_that_arrive_are_those_that_were_written(
    folder: Path, written: list[list[Piece]], texts: list[str]
) -> None:
    carried = dict(zip(NAMES, texts, strict=True))
    line = "arguments " + " ".join("".join(piece.written for piece in word) for word in written)
    text, problems = compile_line(line, NAMES)
    assert problems == []
    expected = ["".join(piece.text + carried[piece.name] for piece in word) for word in written]
    output = run(text, environment(carried, lambda *_: "unused"), folder)
    assert output == b"".join(each.encode() + b"\0" for each in expected)


@given(framed | lines, HOSTILE)
def test_no_line_that_is_accepted_runs_a_value(folder: Path, line: str, value: str) -> None:
    text, problems = compile_line(line, VARIABLES)
    if not problems and "{{error}}" in line:
        run(text, environment({"error": value, "iteration": "3"}, lambda *_: "unused"), folder)
    assert not (folder / "trace").exists()


@given(st.text(st.sampled_from("{}\\'\"`$()<>;&|#\n \tabE=[]!-_"), max_size=60))
def test_any_text_is_answered_and_left_alone_where_it_holds_no_reference(line: str) -> None:
    text, problems = compile_line(line, ())
    assert text == line or "\\{{" in line
    for problem in problems:
        assert 0 <= problem.offset <= problem.offset + problem.length <= max(1, len(line))
        assert problem.help


@given(st.text(max_size=50), st.integers(0, 3), st.integers(0, 3 * LARGEST_VALUE))
def test_what_is_carried_fits_and_is_a_beginning_of_the_whole(
    head: str, width: int, length: int
) -> None:
    value = head.replace("\0", "") + "aé€🎉"[width] * (length // (width + 1))
    files: list[bytes] = []

    def spill(_: str, data: bytes) -> str:
        files.append(data)
        return "file"

    carried = environment({"error": value}, spill)["HOOKLINE_ERROR"]
    assert value.startswith(carried)
    assert len(os.fsencode(carried)) <= LARGEST_VALUE
    assert files == ([] if carried == value else [value.encode()])
    assert len(value.encode()) - len(carried.encode()) < 4 or len(carried.encode()) > (
        LARGEST_VALUE - 4
    )
