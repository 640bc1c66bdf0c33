"""Makes `histories-VERSION.json`: what the workflow asked a Temporal server for, in six stories.

`python -m tests.upgrade.make_histories 0.2` once for each version that has changed the workflow.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from temporalio import activity
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from hookline.adapters.temporal.answers import answer
from hookline.adapters.temporal.workflow import (
    ADVANCE,
    CANCEL,
    LOOK,
    WORKFLOW,
    RunWorkflow,
)
from tests.temporal_server import temporal

if TYPE_CHECKING:
    from collections.abc import Callable

    from temporalio.client import WorkflowHandle

QUEUE = "histories"
# A workflow continues as new after so many events.
FEW = 40


class Script:
    """What `advance` says, one time after the other; it hangs where nothing is left to say."""

    def __init__(self, *said: dict[str, Any] | None) -> None:
        self._said = list(said)
        self.asked = 0

    async def next(self) -> dict[str, Any]:
        self.asked += 1
        said = self._said.pop(0)
        if said is None:
            await asyncio.sleep(3600)
        assert said is not None
        return said


async def parks(handle: WorkflowHandle[Any, Any], script: Script) -> None:
    await _asked(script, 3)
    await handle.signal(LOOK, "")


async def is_taken_over(handle: WorkflowHandle[Any, Any], script: Script) -> None:
    await _asked(script, 1)
    await handle.signal(LOOK, "")


async def times_out_later(handle: WorkflowHandle[Any, Any], script: Script) -> None:
    await asyncio.sleep(0.5)
    await handle.signal(LOOK, "")
    await _asked(script, 2)


async def has_no_home(handle: WorkflowHandle[Any, Any], script: Script) -> None:
    await _asked(script, 1)


async def is_cancelled(handle: WorkflowHandle[Any, Any], script: Script) -> None:
    await _asked(script, 1)
    await handle.cancel()


async def lasts(handle: WorkflowHandle[Any, Any], script: Script) -> None:
    await _asked(script, 12)


OVER = answer("completed", done=True)
STORIES: dict[str, tuple[Callable[..., Any], Script]] = {
    "parks": (
        parks,
        Script(answer("parked", 0.1), answer("parked", 0.0), answer("waits for a person"), OVER),
    ),
    "is taken over": (is_taken_over, Script(None, OVER)),
    "times out later": (times_out_later, Script(answer("parked", 4.0), OVER)),
    "has no home": (has_no_home, Script(OVER)),
    "is cancelled": (is_cancelled, Script(answer("parked"), answer("cancelled", done=True))),
    "lasts": (lasts, Script(*[answer("parked", 0.01)] * 11, OVER)),
}


async def _asked(script: Script, times: int) -> None:
    while script.asked < times:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)


async def make(address: str) -> dict[str, Any]:
    """Every story, with the history that it left; one that continued has several."""
    client = await Client.connect(address, identity="worker")
    found = {}
    for name, (story, script) in STORIES.items():
        home = "nobody" if name in ("has no home", "times out later") else ""

        @activity.defn(name=ADVANCE)
        async def advance(store: str, run_id: str, script: Script = script) -> dict[str, Any]:
            return await script.next()

        @activity.defn(name=CANCEL)
        async def cancel(store: str, run_id: str) -> None:
            return

        worker = Worker(
            client,
            task_queue=QUEUE,
            workflows=[RunWorkflow],
            activities=[advance, cancel],
            workflow_runner=UnsandboxedWorkflowRunner(),
            graceful_shutdown_timeout=timedelta(0),
        )
        async with worker:
            handle = await client.start_workflow(
                WORKFLOW, args=["s", "R-1", home, "running"], id=name, task_queue=QUEUE
            )
            await story(handle, script)
            try:
                await handle.result()
            except WorkflowFailureError as problem:
                raise AssertionError(name) from problem
            async for each in client.list_workflows(f"WorkflowId = '{name}'"):
                place = client.get_workflow_handle(name, run_id=each.run_id)
                history = await place.fetch_history()
                found[f"{name}, {each.run_id}"] = history.to_json_dict()
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        _more = ("--dynamic-config-value", f"limit.historyCount.suggestContinueAsNew={FEW}")
        with temporal(Path(_folder), more=_more) as _server:
            _found = asyncio.run(make(_server.address))
    _path = Path(__file__).with_name(f"histories-{sys.argv[1]}.json")
    _path.write_text(json.dumps(_found).replace('}, "', '},\n"') + "\n")
    print(_path, len(_found))
