"""Workflows that an older Hookline began continue under this one, and the test would notice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from hookline.adapters.temporal import workflow
from hookline.adapters.temporal.workflow import RunWorkflow

HERE = Path(__file__).parent
STORED = [
    (path.stem, name, history)
    for path in sorted(HERE.glob("histories-*.json"))
    for name, history in json.loads(path.read_text()).items()
]
BEFORE = "            seen = self._news\n"
CHANGED = "            seen = self._news\n            await asyncio.sleep(0.01)\n"
GUARDED = (
    "            seen = self._news\n"
    "            if workflow.patched('rests'):\n"
    "                await asyncio.sleep(0.01)\n"
)


def replay(kind: type, name: str, history: Any) -> None:
    replayer = Replayer(workflows=[kind], workflow_runner=UnsandboxedWorkflowRunner())
    found = WorkflowHistory.from_json(name.partition(",")[0], history)
    asyncio.run(replayer.replay_workflow(found))


def written(source: str) -> type:
    """The workflow as a text has it."""
    module = ModuleType("changed_workflow")
    exec(source, vars(module))
    found: type = module.RunWorkflow
    return found


@pytest.mark.parametrize(
    ("version", "name", "history"), STORED, ids=[f"{v}, {n}" for v, n, _ in STORED]
)
def test_a_stored_history_replays(version: str, name: str, history: Any) -> None:
    replay(RunWorkflow, name, history)


def test_there_are_histories_of_every_way_to_wait() -> None:
    stories = [name.partition(",")[0] for _, name, _ in STORED]
    taken_over = {"is taken over", "times out later"}
    assert {*stories} == {"parks", "has no home", "is cancelled", "lasts", *taken_over}
    assert stories.count("lasts") > 1  # it has continued as new


def test_a_change_without_a_marker_is_noticed_and_one_with_it_is_not() -> None:
    source = Path(workflow.__file__).read_text()
    assert source.count(BEFORE) == 1
    replay(written(source.replace(BEFORE, GUARDED)), STORED[0][1], STORED[0][2])
    with pytest.raises(NondeterminismError):
        replay(written(source.replace(BEFORE, CHANGED)), STORED[0][1], STORED[0][2])
