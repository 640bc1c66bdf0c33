"""A worker of Temporal in a separate thread: it sends heartbeats while the engine is busy.

What it is asked to advance is done in the event loop of the engine.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from temporalio import activity
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from hookline.adapters.temporal.answers import HELD, NOT_HERE, Answer
from hookline.adapters.temporal.client import TemporalClient, connected, host_queue, translated
from hookline.adapters.temporal.workflow import ADVANCE, CANCEL, RunWorkflow
from hookline.cancelling import end
from hookline.domain.hosts import version_numbers
from hookline.errors import SchedulerError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from hookline.ports.schedulers import SchedulerSite

T = TypeVar("T")

BEAT = 1.0
# Frozen workers keep what their open polls are given, so there are few of them.
ACTIVITY_POLLS, WORKFLOW_POLLS = 1, 2
STICKY = timedelta(seconds=2)
ELSEWHERE = timedelta(milliseconds=500)
FIRST_PAUSE, LAST_PAUSE = 0.1, 10.0
# A server that is frozen would keep whoever leaves for half a minute.
LEAVING = 5.0


class EngineCalls:
    """The two things that the engine does here, in its own event loop."""

    def __init__(
        self,
        advance: Callable[[str], Coroutine[Any, Any, Answer]],
        cancel: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        self.advance, self.cancel = advance, cancel
        self._loop = asyncio.get_running_loop()

    def begin(self, doing: Coroutine[Any, Any, T]) -> Future[T]:
        """Do it there; from the thread of the worker."""
        return asyncio.run_coroutine_threadsafe(doing, self._loop)


class WorkerThread:
    """The workers of this process, and its connection."""

    def __init__(self, site: SchedulerSite, engine: EngineCalls) -> None:
        self._site, self._engine = site, engine
        self._ready: Future[TemporalClient] = Future()
        self._over: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True, name="temporal")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._strange: set[str] = set()
        self._doing: set[asyncio.Future[Answer]] = set()
        self._is_stopping = False

    async def start(self) -> TemporalClient:
        """Begin to work; SchedulerError if that is not possible."""
        self._thread.start()
        return await asyncio.wrap_future(self._ready)

    def over(self) -> asyncio.Future[None]:
        """Ends when the workers do, which they should not."""
        return asyncio.wrap_future(self._over)

    async def call(self, asking: Coroutine[Any, Any, T]) -> T:
        """Ask the server something, over this connection."""
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, self._loop))

    async def stop(self) -> None:
        """End what is being advanced here, and leave."""
        self._is_stopping = True
        if self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # it is over already
                self._loop.call_soon_threadsafe(self._stop.set)
        deadline = time.monotonic() + LEAVING
        while self._thread.is_alive():  # the engine's loop has to run meanwhile
            if time.monotonic() > deadline:
                self._site.tell("the Temporal server does not answer; left without waiting for it")
                return
            await asyncio.sleep(0.01)

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as problem:  # noqa: BLE001  # it is raised by who waits
            for future in (self._ready, self._over):
                if not future.done():
                    future.set_exception(problem)
        else:
            self._over.set_result(None)

    async def _work(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        if self._is_stopping:
            self._stop.set()
        client = await connected(self._site)
        await client.check()
        stopped = asyncio.ensure_future(self._stop.wait())
        workers = [self._shared(client), self._own(client)]
        running = [asyncio.ensure_future(each.run()) for each in workers]
        try:
            await self._while_running(self._become_current(client), [stopped, *running])
            self._ready.set_result(client)
            await asyncio.wait({stopped, *running}, return_when=asyncio.FIRST_COMPLETED)
            for each in running:
                if each.done():
                    each.result()
        except (RPCError, RuntimeError) as problem:
            raise translated(self._site, problem) from problem
        finally:
            stopped.cancel()
            await end(*running, *self._doing)

    async def _while_running(
        self, doing: Coroutine[Any, Any, None], running: list[asyncio.Future[Any]]
    ) -> None:
        task = asyncio.ensure_future(doing)
        await asyncio.wait({task, *running}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            for each in running:
                if each.done():
                    each.result()
        await task

    # Workers

    def _shared(self, client: TemporalClient) -> Worker:
        """Takes any run of the project."""
        version = WorkerDeploymentVersion(client.queue, self._site.version)
        return Worker(
            client.client,
            task_queue=client.queue,
            workflows=[RunWorkflow],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_concurrent_workflow_task_polls=WORKFLOW_POLLS,
            sticky_queue_schedule_to_start_timeout=STICKY,
            deployment_config=WorkerDeploymentConfig(
                version=version,
                use_worker_versioning=True,
                # A run can last longer than workers of its version.
                default_versioning_behavior=VersioningBehavior.AUTO_UPGRADE,
            ),
            **self._activities(),
        )

    def _own(self, client: TemporalClient) -> Worker:
        """Takes runs whose work is on this host."""
        return Worker(
            client.client,
            task_queue=host_queue(self._site, self._site.host),
            **self._activities(),
        )

    def _activities(self) -> dict[str, Any]:
        beat = timedelta(seconds=BEAT)
        return {
            "activities": [self._advance, self._cancel],
            "max_concurrent_activities": self._site.at_once,
            "max_concurrent_activity_task_polls": ACTIVITY_POLLS,
            "max_heartbeat_throttle_interval": beat,
            "default_heartbeat_throttle_interval": beat,
        }

    @activity.defn(name=ADVANCE)
    async def _advance(self, run: str) -> Answer:
        run_id = self._own_run(run)
        said = await self._beating(self._engine.begin(self._engine.advance(run_id)))
        if said == HELD:
            raise ApplicationError("", type="Held")
        if said == NOT_HERE:
            raise ApplicationError("", type="NotHere", next_retry_delay=ELSEWHERE)
        return said

    @activity.defn(name=CANCEL)
    async def _cancel(self, run: str) -> None:
        run_id = self._own_run(run)
        await asyncio.wrap_future(self._engine.begin(self._engine.cancel(run_id)))

    def _own_run(self, run: str) -> str:
        """The run of a store, which has to be ours."""
        store, _, run_id = run.partition("/")
        if store == self._site.store.id:
            return run_id
        if store not in self._strange:
            self._strange.add(store)
            queue = self._site.settings.task_queue
            self._site.tell(
                f"another project has its runs in the task queue '{queue}', too: give each project"
                " its own, or leave `task_queue` out"
            )
        raise ApplicationError("", type="AnotherProject", next_retry_delay=ELSEWHERE)

    async def _beating(self, doing: Future[Answer]) -> Answer:
        """Wait for it; the server hears that this worker lives.

        A server that was away believes that it does not, and gives this up. But the lease is still
        ours, and what an agent does meanwhile is not thrown away: others are refused until its end.
        """
        waiting = asyncio.wrap_future(doing)
        self._doing.add(waiting)
        waiting.add_done_callback(self._doing.discard)
        while not waiting.done():
            await asyncio.wait({waiting}, timeout=BEAT)
            activity.heartbeat()
        return waiting.result()

    # Versions

    async def _become_current(self, client: TemporalClient) -> None:
        """Let the newest version of Hookline have what is new."""
        pause, why = FIRST_PAUSE, ""
        while pause < LAST_PAUSE:
            try:
                if await self._is_settled(client):
                    return
                await client.make_current()
            except RPCError as problem:
                # The server learns of a version from its polls, and wants to be asked rarely.
                if problem.status in (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED):
                    raise
                why = problem.message
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  # no secret
                pause *= 1.5
        raise SchedulerError(f"the Temporal server does not take Hookline as a worker: {why}")

    async def _is_settled(self, client: TemporalClient) -> bool:
        """Whether ours is the current version, or an older one."""
        own, current = self._site.version, await client.current_version()
        if current is None or version_numbers(current) < version_numbers(own):
            return False
        if current != own:
            self._site.tell(
                f"only finishing what this host has: Hookline {current} is current in the task"
                f" queue '{client.queue}', and this is {own}"
            )
        return True
