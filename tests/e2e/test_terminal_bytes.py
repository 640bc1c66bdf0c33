"""The bytes of stdout and stderr hold no code of somebody else, not even a colour of our own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import Cli

if TYPE_CHECKING:
    from pathlib import Path

# A colour that Hookline uses itself, a clear screen, C1, marks of direction and of no width.
HOSTILE = "x\x1b[31m\x1b[2J\x1b[0m\x9b2J\u202e\u200b\u2066\U000e0041y"
CODES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\U000e0041]")
YAML = json.dumps(HOSTILE)
COMMANDS = (
    ("hook", "show", HOSTILE),
    ("hook", "disable", HOSTILE),
    ("hook", "test", HOSTILE),
    ("flow", "start", HOSTILE),
    ("flow", "journal", HOSTILE),
    ("answer", "R-3", HOSTILE, "yes"),
    ("effect", "post", "R-3", HOSTILE, "--status", "ok"),
    ("effect", "run", "R-1", HOSTILE),
    ("points", HOSTILE),
    ("why", HOSTILE),
    ("task", "list", f"--{HOSTILE}"),
    ("emit", HOSTILE),
    (HOSTILE,),
    ("task", HOSTILE),
)


def assert_clean(cli: Cli, *args: str) -> None:
    for more in ((), ("--json",)):
        done = cli(*args, *more)
        assert CODES.findall(done.stdout + done.stderr) == [], (args, more)


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_an_argument_says_nothing_to_a_terminal(cli: Cli, args: tuple[str, ...]) -> None:
    assert_clean(cli, *args)


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "text",
    [
        f"agents: {{bot: {{driver: scripted, script: {YAML}}}}}",
        f"agents: {{bot: {{driver: command, command: 'true'}}}}\nsession: {{prompt: {YAML}}}",
        f"agents: {{{YAML}: {{driver: command, command: 'false'}}}}",
        f"hooks: {{task_created: [{{name: a, command: {YAML}}}]}}",
        f"hooks: {{{YAML}: []}}",
    ],
)
def test_a_configuration_says_nothing_to_a_terminal(cli: Cli, text: str) -> None:
    cli.configure(text, trust=False)
    for args in (("check",), ("trust", "--yes"), ("task", "add", "a"), ("run", "x"), ("doctor",)):
        assert_clean(cli, *args)
    for args in (("config", "show"), ("hook", "list"), ("attention",), ("hook", "log")):
        assert_clean(cli, *args)


def test_the_name_of_a_folder_says_nothing_to_a_terminal(tmp_path: Path) -> None:
    cli = Cli(tmp_path / HOSTILE)
    for args in (("check",), ("doctor",), ("trust",), ("init",), ("run", "x"), ("demo", "--x")):
        assert_clean(cli, *args)


def test_a_journal_is_the_same_json_without_codes(cli: Cli) -> None:
    cli.configure('flows: {mine: {steps: [{id: one, run: "true"}]}}')
    assert cli("flow", "start", "mine", "--input", json.dumps({"said": HOSTILE})).code == 0
    lines = cli("flow", "journal", "R-1").stdout
    assert CODES.findall(lines) == []
    assert "x" in lines
    told = [json.loads(line) for line in lines.splitlines()]
    assert told == cli.json("flow", "journal", "R-1")
    assert "\u202e\u200b\u2066\U000e0041y" in json.dumps(told, ensure_ascii=False)
    for args in (("flow", "journal", "R-1"), ("events", "--all"), ("flow", "show", "R-1")):
        assert_clean(cli, *args)
