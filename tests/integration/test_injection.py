"""Values that try to be more than an argument, through a real shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookline.hooks.frames import environment
from hookline.hooks.language.templates import compile_line
from hookline.points import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SHELLS = [
    pytest.param(("/bin/sh",), id="sh"),
    *[
        pytest.param(tuple(argv), id=" ".join(argv))
        for argv in (["dash"], ["bash"], ["bash", "--posix"])
        if shutil.which(argv[0])
    ],
]

CORPUS = [
    "",
    " ",
    "plain",
    "two words",
    "it's",
    "'; touch pwned; '",
    'say "hi"',
    '"; touch pwned; "',
    "'\"'\"'; touch pwned #",
    "$(touch pwned)",
    "`touch pwned`",
    "${IFS}$(touch${IFS}pwned)",
    "; touch pwned",
    "&& touch pwned",
    "|| touch pwned",
    "| touch pwned",
    "& touch pwned &",
    "> pwned",
    "a\ntouch pwned\n",
    "\ntouch pwned",
    "trailing newlines\n\n",
    "a\r\nb\tc",
    "*",
    "?[a-z]*",
    "{a,b}",
    "~",
    "~root/x",
    "\\",
    "\\\\'\\\"",
    "back\\slash\\",
    "-rf",
    "--help",
    "-n",
    "{{error}}",
    "{{task_content}} {{",
    "$HOME",
    "$$ $1 $@ $#",
    "${HOOKLINE_ERROR}",
    "$((1+1))",
    "a[$(touch pwned)]",
    "%s%n%d",
    "!! !$",
    "# no comment",
    "EOF\ntouch pwned\n",
    "naïve 日本語 🎉 \u202e",
    "\x01\x1b[31m\x7f",
]


def no_file(name: str, data: bytes) -> str:
    raise AssertionError(f"{name} needs no file of {len(data)} bytes")


def run(shell: tuple[str, ...], line: str, env: Mapping[str, str], folder: Path) -> bytes:
    done = subprocess.run(
        [*shell, "-c", line],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program that prints its arguments, each followed by a NUL."""
    program = tmp_path / "arguments"
    program.write_text("#!/bin/sh\nfor each; do printf '%s\\0' \"$each\"; done\n")
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_every_value_arrives_as_one_argument_through_every_variable(
    folder: Path, shell: tuple[str, ...]
) -> None:
    line = "./arguments"
    for name in VARIABLES:
        line += f""" {{{{{name}}}}} "{{{{ {name} }}}}" '{{{{{name}}}}}' <{{{{{name}}}}}>"""
    line = line.replace(" <{{", " \\<{{").replace("}}>", "}}\\>")
    text, problems = compile_line(line, VARIABLES)
    assert problems == []
    before = sorted(os.listdir(folder))
    for shift in range(len(CORPUS)):
        # Each variable has another value, so that no reference can pass for its neighbour's.
        values = {
            name: CORPUS[(shift + index) % len(CORPUS)] for index, name in enumerate(VARIABLES)
        }
        expected = [
            each for value in values.values() for each in (value, value, value, f"<{value}>")
        ]
        output = run(shell, text, environment(values, no_file), folder)
        assert output.decode().split("\0")[:-1] == expected
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("shell", SHELLS)
def test_the_corpus_does_harm_when_it_is_text_of_the_line(
    folder: Path, shell: tuple[str, ...]
) -> None:
    run(shell, 'eval "echo $VALUE" > /dev/null', {"VALUE": "; touch pwned"}, folder)
    assert (folder / "pwned").exists()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            """./arguments '{"text": "Iteration {{iteration}} done"}'""",
            '{"text": "Iteration 3 done"}',
        ),
        ("./arguments $(({{iteration}} + 1))", "4"),
        ("./arguments $(echo '{{iteration}}' \"{{iteration}}\")", "3|3"),
        ("./arguments \"$(echo '{{iteration}}')\"", "3"),
        ("./arguments `echo {{iteration}} '{{iteration}}'`", "3|3"),
        ('./arguments "`echo {{iteration}}`"', "3"),
        ("./arguments ${NONE:-{{iteration}}}", "3"),
        ("sh -c './arguments \"{{iteration}}\" {{iteration}}'", "3|3"),
        ('./arguments "$(cat <<E\n\'{{iteration}}\' "{{iteration}}"\nE\n)"', "'3' \"3\""),
        ("case {{iteration}} in {{iteration}}) ./arguments yes;; esac", "yes"),
        ("case '{{iteration}}' in *) ./arguments \\{{iteration}};; esac", "{{iteration}}"),
        (
            r"""./arguments '\{{error}}' "\{{error}}" "\\{{iteration}}" """,
            r"{{error}}|{{error}}|\3",
        ),
        ('for i in {{task_content}}; do ./arguments "$i"; done', "a 'b' *"),
        ('X={{task_content}}; ./arguments "$X"', "a 'b' *"),
        ("X={{task_content}} sh -c './arguments \"$X\"'", "a 'b' *"),
        ('export X={{task_content}}; ./arguments "$X" # {{error}}', "a 'b' *"),
        (
            "[ {{task_content}} = {{task_content}} ] && ./arguments 'it is '{{task_content}}",
            "it is a 'b' *",
        ),
        ("./arguments {{{iteration}}} {{{{iteration}}}}", "{3}|{{3}}"),
    ],
)
def test_expansions_mean_the_same_in_every_place(
    folder: Path, shell: tuple[str, ...], line: str, expected: str
) -> None:
    text, problems = compile_line(line, VARIABLES)
    assert problems == []
    values = {"iteration": "3", "task_content": "a 'b' *", "error": "wrong"}
    output = run(shell, text, environment(values, no_file), folder)
    assert output.decode() == "".join(f"{each}\0" for each in expected.split("|"))


def test_a_megabyte_arrives_whole_by_its_file(folder: Path) -> None:
    value = "größer\n" * 131_072
    assert len(value.encode()) > 1_000_000

    def spill(name: str, data: bytes) -> str:
        path = folder / name
        path.write_bytes(data)
        return str(path)

    env = environment({"task_content": value}, spill)
    text, problems = compile_line('cat "$HOOKLINE_TASK_CONTENT_FILE"', VARIABLES)
    assert problems == []
    assert run(("/bin/sh",), text, env, folder).decode() == value
    text, _ = compile_line("./arguments {{task_content}}", VARIABLES)
    argument = run(("/bin/sh",), text, env, folder).removesuffix(b"\0").decode()
    assert value.startswith(argument)
    assert 32_760 <= len(argument.encode()) <= 32_768


def test_a_file_name_that_is_no_text_arrives_byte_for_byte(folder: Path) -> None:
    env = environment({"worktree": os.fsdecode(b"/tmp/caf\xe9")}, no_file)
    text, _ = compile_line("./arguments {{worktree}}", VARIABLES)
    assert run(("/bin/sh",), text, env, folder) == b"/tmp/caf\xe9\0"
