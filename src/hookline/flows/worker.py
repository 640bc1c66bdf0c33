"""The worker: takes ready tasks, lets agents work on them, and sees everything to its end.

Sessions, submissions and merges are runs; the worker starts sessions as lanes become free, and
advances whatever is due. Leases keep several workers on one project apart.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.sessions import LIVE, STANDING
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.flows.engine import Engine
    from hookline.flows.runner import Runner
    from hookline.ports import View

LOOK_AGAIN = 2.0
# A task that could not be begun is left alone for a while.
GRACE = 30.0
SOON = 60.0


class Budget(NamedTuple):
    """The limits of a whole run of a worker; None is no limit."""

    tasks: int | None = None
    minutes: float | None = None
    usd: float | None = None


class Worker:
    """Keeps lanes busy. `begin` claims a task for an agent and starts its session, if it can."""

    def __init__(
        self,
        engine: Engine,
        runner: Runner,
        lanes: Sequence[str],
        begin: Callable[[str], Awaitable[str | None]],
        *,
        budget: Budget | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._engine = engine
        self._runner = runner
        self._lanes: list[tuple[str, str | None]] = [(agent, None) for agent in lanes]
        self._begin = begin
        self._budget = budget or Budget()
        self._tell = tell
        self._began = time.monotonic()
        self._begun = 0
        self._not_before = 0.0
        self.stopping = False

    @property
    def lanes(self) -> list[tuple[str, str | None]]:
        """Each lane's agent, and the run of the session that it works on."""
        return list(self._lanes)

    async def serve(self, *, once: bool = False) -> int:
        """Work for ever, or until nothing is left to do; how many tasks were begun."""
        serving = asyncio.ensure_future(self._runner.serve())
        try:
            while True:
                self._free_lanes()
                began = await self._fill_lanes()
                if (once or self.stopping) and not began and self._is_idle():
                    return self._begun
                if serving.done():
                    serving.result()
                await self._engine.wakeup.wait(LOOK_AGAIN)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    def spent(self) -> str | None:
        """Which limit of the whole run is reached."""
        budget = self._budget
        if budget.tasks is not None and self._begun >= budget.tasks:
            return "tasks"
        if budget.minutes is not None and time.monotonic() - self._began >= budget.minutes * 60:
            return "minutes"
        return "usd" if budget.usd is not None and self._usd() >= budget.usd else None

    def _usd(self) -> float:
        with self._engine.store.read() as view:
            runs = [view.runs.find(run) for _, run in self._lanes if run]
        return float(sum(((run.state or {}).get("progress") or {}).get("usd", 0.0) for run in runs))

    def _free_lanes(self) -> None:
        with self._engine.store.read() as view:
            for place, (agent, run_id) in enumerate(self._lanes):
                if run_id and view.runs.value(run_id, STANDING) != LIVE:
                    self._lanes[place] = (agent, None)

    async def _fill_lanes(self) -> bool:
        began = False
        for place, (agent, run_id) in enumerate(self._lanes):
            if run_id or self.stopping or self.spent() or time.monotonic() < self._not_before:
                continue
            try:
                run_id = await self._begin(agent)
            except HooklineError as problem:
                self._tell(f"{agent}: {problem.message}")
                self._not_before = time.monotonic() + GRACE
                continue
            if run_id is not None:
                self._lanes[place] = (agent, run_id)
                self._begun += 1
                began = True
        return began

    def _is_idle(self) -> bool:
        """Whether no lane is busy, and no run of the pipeline has anything to do by itself."""
        if any(run_id for _, run_id in self._lanes) or self._runner.busy:
            return False
        with self._engine.store.read() as view:
            now = time.time()
            return not view.runs.due(now, self._engine.owner.is_free) and not _goes_on(view, now)


def _goes_on(view: View, now: float) -> bool:
    """Whether something wakes by itself soon enough to be waited for."""
    wake = view.runs.next_wake(now)
    return wake is not None and wake - now < SOON
