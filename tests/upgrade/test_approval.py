"""Merges that waited for a person in a store of version 0.1: a word is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import Cli
from tests.upgrade.make_approval import ARCHIVE, TASKS
from tests.upgrade.old_store import restore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    runner = Cli(tmp_path)
    restore(runner, ARCHIVE, TASKS)
    yield runner
    runner.close()


def test_an_approved_merge_is_merged_at_once(cli: Cli) -> None:
    for task in TASKS:
        assert cli("gate", "approve", task).code == 0
    result = cli("merge", "T-1")
    assert result.code == 0, result.stdout + result.stderr
    result = cli("work", "--once")
    assert result.code == 0, result.stdout + result.stderr
    assert [cli.task(task)["state"] for task in TASKS] == ["completed"] * 2
    assert [each["nodeId"] for each in cli.events("task_completed")] == list(TASKS)
