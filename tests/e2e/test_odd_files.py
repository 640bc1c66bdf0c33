"""Pipes and links where a file should be: nothing waits for them or writes through them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli

HOOKED = 'hooks: {task_created: [{name: ran, command: "echo ran >> trace"}]}'
NO_FILE = "it is not a regular file"


@pytest.fixture
def log(cli: Cli) -> Iterator[Path]:
    cli.configure(HOOKED)
    path = cli.root / ".hookline" / "logs" / "hooks.log"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    yield path
    assert (cli.root / "trace").read_text() == "ran\n"


def test_a_pipe_in_place_of_the_log_holds_nobody(cli: Cli, log: Path) -> None:
    os.mkfifo(log)
    assert cli.process("task", "add", "one").code == 0
    code, error = cli.refused("hook", "log")
    assert (code, error["message"]) == (2, f"{log} cannot be read: {NO_FILE}")


def test_a_pipe_that_somebody_reads_is_no_log(cli: Cli, log: Path) -> None:
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert cli.process("task", "add", "one").code == 0
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


def test_a_link_in_place_of_the_log_is_not_followed(cli: Cli, log: Path) -> None:
    target = cli.put("precious", "mine\n")
    log.symlink_to(target)
    assert cli("task", "add", "one").code == 0
    assert target.read_text() == "mine\n"


@pytest.mark.parametrize("name", ["hookline.yaml", "data/automation-hooks.json"])
def test_a_pipe_is_no_configuration(cli: Cli, name: str) -> None:
    path = cli.root / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    checked = cli.process("check")
    assert checked.code == 2
    assert f"{name} cannot be read: {NO_FILE}" in checked.stdout
    assert cli("task", "list").code == 0
    assert cli("emit", "seen").code == 0
    assert cli("trust", "--yes").code == 0


def test_a_pipe_is_no_hook(cli: Cli) -> None:
    folder = cli.root / ".hookline" / "hooks" / "task_created"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "mine", 0o755)
    checked = cli.process("check")
    assert checked.code == 2
    assert "'mine' is not a regular file" in checked.stdout
    assert cli("trust", "--yes").code == 0
    assert cli("task", "add", "one").code == 0
    assert cli("doctor").code != 0


@pytest.mark.parametrize(
    "text",
    [
        "agents: {bot: {driver: scripted, script: pipe}}",
        "agents: {bot: {driver: command, command: 'true'}}\nsession: {prompt: pipe}",
    ],
)
def test_a_pipe_is_no_script_and_no_prompt(cli: Cli, text: str) -> None:
    os.mkfifo(cli.root / "pipe")
    cli.configure(text)
    said = [cli(*args) for args in (("check",), ("run", "x"))]
    assert NO_FILE in "".join(done.stdout + done.stderr for done in said)


def test_a_pipe_is_no_file_of_flows(cli: Cli) -> None:
    (cli.root / ".hookline" / "flows").mkdir()
    os.mkfifo(cli.root / ".hookline" / "flows" / "mine.py")
    cli.configure("")
    assert cli.process("flow", "list").code == 0
    assert cli("flow", "start", "mine").code != 0
