"""A terminal or pipe that is not UTF-8 gets plain marks that differ, and never an error."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PATIENCE, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.conftest import Cli

STREAMS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("ascii", {"PYTHONIOENCODING": "ascii"}),
    ("latin-1", {"PYTHONIOENCODING": "latin-1"}),
    ("ascii", {"LC_ALL": "C", "PYTHONUTF8": "0"}),
)
CONFIGURATION = """\
agents: {bot: {driver: command, command: "echo '<promise>COMPLETE</promise>'"}}
hooks: {task_created: [{name: greet, command: "exit 3"}]}
validation:
  - {name: has_readme, type: file_existence, files: [readme]}
  - {name: has_licence, type: file_existence, files: [licence]}
"""
every_stream = pytest.mark.parametrize(("encoding", "env"), STREAMS)


def said(cli: Cli, encoding: str, env: Mapping[str, str], *words: str) -> str:
    """All that a command says, in the encoding of its streams."""
    done = subprocess.run(
        (*PROGRAM, *words),
        cwd=cli.root,
        env={**cli.env, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
    )
    text = done.stdout.decode(encoding)
    assert "error[" not in text
    return text


@pytest.fixture
def project(cli: Cli) -> Cli:
    cli.configure(CONFIGURATION)
    cli.put("readme", "read me")
    cli.add("Write 漢 it", quiet=False)
    cli.add("Read it", quiet=False)
    cli("dep", "add", "T-2", "T-1")
    return cli


@pytest.mark.examples(1)
@every_stream
def test_commands_reach_any_stream(project: Cli, encoding: str, env: Mapping[str, str]) -> None:
    def told(*words: str) -> str:
        return said(project, encoding, env, *words)

    assert "+ python" in told("doctor").lower()
    assert "T-2" in told("why", "T-2")
    graph = told("task", "graph")
    assert "Write ? it" in graph
    assert "`- " in graph
    assert "* greet" in told("hook", "list")
    assert told("report", "--since", "1h").strip()
    assert "**" in told("report", "--since", "1h", "--markdown")


@pytest.mark.examples(1)
@every_stream
def test_good_and_bad_marks_differ(project: Cli, encoding: str, env: Mapping[str, str]) -> None:
    checked = said(project, encoding, env, "validate")
    assert "+ has_readme" in checked
    assert "x has_licence" in checked
    run = said(project, encoding, env, "run", "do it", "--iterations", "1")
    assert "?" not in run
    assert re.search("^  x .*greet", run, re.MULTILINE)
    assert re.search("^  [+] ", run, re.MULTILINE), run
