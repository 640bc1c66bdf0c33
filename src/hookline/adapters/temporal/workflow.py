"""The one workflow: it calls `advance` for a run, and waits for its timer or for news.

Replayed on other hosts and by newer versions: what it asks for, and in which order, may only change
behind `workflow.patched`. A test replays stored histories.
"""

from __future__ import annotations

import asyncio
import builtins
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

WORKFLOW = "hookline.run"
ADVANCE, CANCEL, LOOK = "hookline.advance", "hookline.cancel", "look"
PROJECT = SearchAttributeKey.for_keyword("HooklineProject")
FLOW = SearchAttributeKey.for_keyword("HooklineFlow")
STATUS = SearchAttributeKey.for_keyword("HooklineStatus")

# Missing heartbeats show that a worker is gone; the store mostly knows it sooner.
HEARTBEAT = timedelta(seconds=3)
# How long the host that has the work may take to begin; then any host may.
AT_HOME = timedelta(seconds=2)
# An agent's turn has its own limits.
LONGEST = timedelta(days=365)
# Attempts add up with each host that is lost, and the next one must not wait for long.
AGAIN = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=2)
)


@workflow.defn(name=WORKFLOW)
class RunWorkflow:
    """A run of a store. Its history has their names and statuses, and nothing else."""

    def __init__(self) -> None:
        self._news = 0
        self._home: str | None = None
        self._status = ""

    @workflow.signal(name=LOOK)
    def look(self, home: str) -> None:
        """Something happened to the run, or nobody holds it any more; where its work is."""
        self._news += 1
        self._home = home

    @workflow.run
    async def run(self, store: str, run_id: str, home: str, status: str) -> str:
        """Have the run advanced until it is over; its status."""
        self._home = home if self._home is None else self._home
        self._status = status
        while True:
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[store, run_id, self._home, self._status])
            seen = self._news
            said = await self._advance(store, run_id, seen)
            if said is None:
                continue
            self._show(said["status"])
            if said.get("done"):
                return str(said["status"])
            await self._wait(store, run_id, seen, said.get("wait"))

    async def _advance(self, store: str, run_id: str, seen: int) -> dict[str, Any] | None:
        """What one advance said; None if another one is needed."""
        home = self._home
        activity: workflow.ActivityHandle[dict[str, Any]] = workflow.start_activity(
            ADVANCE,
            f"{store}/{run_id}",
            task_queue=home or None,
            schedule_to_start_timeout=AT_HOME if home else None,
            start_to_close_timeout=LONGEST,
            heartbeat_timeout=HEARTBEAT,
            retry_policy=AGAIN,
        )
        await self._until(store, run_id, lambda: activity.done() or self._news != seen)
        if not activity.done():
            # Nobody holds the run, so its worker may be gone. If it is not, the next one is refused
            # until that has finished. To cancel it would break the library when it times out later.
            activity.add_done_callback(_ignore)
            return None
        try:
            return await activity
        except ActivityError as ended:
            if isinstance(ended.cause, TimeoutError) and (
                ended.cause.type == TimeoutType.SCHEDULE_TO_START
            ):
                self._home = ""
            return None

    async def _wait(self, store: str, run_id: str, seen: int, seconds: float | None) -> None:
        timeout = None if seconds is None else timedelta(seconds=seconds)
        try:
            await self._until(store, run_id, lambda: self._news != seen, timeout)
        except builtins.TimeoutError:
            return

    async def _until(
        self, store: str, run_id: str, is_over: Any, timeout: timedelta | None = None
    ) -> None:
        """Wait; if someone cancels the workflow, the run is cancelled."""
        try:
            await workflow.wait_condition(is_over, timeout=timeout)
        except asyncio.CancelledError:
            await workflow.execute_activity(
                CANCEL,
                f"{store}/{run_id}",
                start_to_close_timeout=timedelta(minutes=1),
                retry_policy=AGAIN,
            )
            self._news += 1

    def _show(self, status: str) -> None:
        if status != self._status:
            self._status = status
            workflow.upsert_search_attributes([STATUS.value_set(status)])


def _ignore(activity: asyncio.Task[Any]) -> None:
    """Nobody waits for an activity any more; its error does not count."""
    if not activity.cancelled():
        activity.exception()
