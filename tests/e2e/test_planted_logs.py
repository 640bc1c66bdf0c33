"""A link or a pipe in the place of a log is refused: nothing is read or written through it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.terminal_rig import prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.conftest import Cli


def link(path: Path) -> None:
    target = path.parents[2] / "target"
    target.write_text("foreign\n")
    path.symlink_to(target)


PLANTS = {"it is a link": link, "it is not a regular file": os.mkfifo}
every_plant = pytest.mark.parametrize(("told", "plant"), PLANTS.items())


def planted(cli: Cli, name: str, plant: Callable[[Path], None]) -> Path:
    path = cli.root / ".hookline/logs" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    plant(path)
    return path


@every_plant
def test_a_session_whose_log_is_planted_is_not_started(
    cli: Cli, told: str, plant: Callable[[Path], None]
) -> None:
    prepare(cli)
    path = planted(cli, "R-1.log", plant)
    code, error = cli.refused("run", "make it work", "--detach")
    assert (code, error["message"]) == (2, f"cannot write {path}: {told}")
    assert cli.json("session", "list") == []
    assert cli.json("task", "list") == []
    assert cli.json("status")["running"] == []


@every_plant
def test_a_worker_whose_log_is_planted_is_not_started(
    cli: Cli, told: str, plant: Callable[[Path], None]
) -> None:
    line = Pipeline(cli)
    line.begin(remote=False)
    path = planted(cli, "work.log", plant)
    code, error = cli.refused("work", "--detach")
    assert (code, error["message"]) == (2, f"cannot write {path}: {told}")
    assert cli.json("status")["running"] == []


@every_plant
@pytest.mark.parametrize(
    ("name", "words"), [("work.log", ("logs", "work")), ("hooks.log", ("hook", "log"))]
)
def test_a_planted_log_is_not_read(
    cli: Cli, told: str, plant: Callable[[Path], None], name: str, words: tuple[str, ...]
) -> None:
    cli.add("a task")
    path = planted(cli, name, plant)
    done = cli.process(*words)
    assert done.code == 2
    assert f"{path} cannot be read: {told}" in done.stderr
    assert "foreign" not in done.stdout
