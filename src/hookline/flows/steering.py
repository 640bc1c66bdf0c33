"""Steering a run: hooks choose which effects run now, and say whether more is to come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.moments import seconds
from hookline.domain.records import OK, PENDING, Delivery, Outcome
from hookline.domain.runs import WAITING
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame
from hookline.hooks.rules import RULES, failed
from hookline.hooks.settle import report_hook_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.call import Caller
    from hookline.hooks.registry import Hook, HookRegistry
    from hookline.ports import Store, Transaction

START, END = "on-iteration-start", "on-iteration-end"


class Decision(NamedTuple):
    """What is done in this tick: effects to carry out, and how long to wait at the most."""

    tasks: tuple[str, ...] = ()
    wait_until: float | None = None


class Tick(NamedTuple):
    """What the native hooks look at."""

    pending: list[JournalEffect]
    running: frozenset[str]
    status: str


def native_orchestrator(payload: dict[str, Any], tick: Tick) -> dict[str, Any]:
    """Carry out everything that can run now."""
    now = time.time()
    able = [
        effect.effect_id
        for effect in tick.pending
        if effect.kind not in WAITING
        and not effect.task
        and effect.effect_id not in tick.running
        and (effect.next_try or 0) <= now
    ]
    if able:
        return {"action": "executed-tasks", "count": len(able), "tasks": able}
    if tick.pending:
        kinds = ", ".join(sorted({effect.kind for effect in tick.pending}))
        return {"action": "waiting", "reason": kinds}
    return {"action": "none", "reason": "nothing is pending"}


def native_finalization(payload: dict[str, Any], tick: Tick) -> dict[str, Any]:
    """Go on until the run is over."""
    return {
        "iteration": payload["iteration"],
        "finalStatus": tick.status,
        "pendingEffects": len(tick.pending),
        "needsMoreIterations": tick.status == "waiting",
    }


NATIVE: dict[str, Callable[[dict[str, Any], Tick], dict[str, Any]]] = {
    "native-orchestrator": native_orchestrator,
    "native-finalization": native_finalization,
}


class Steering:
    """Asks the hooks at both ends of a tick."""

    def __init__(
        self,
        store: Store,
        registry: HookRegistry,
        caller: Caller,
        *,
        change: Callable[..., Any],
        suspended: Callable[[str], str | None],
        debug: Callable[[str, dict[str, Any], Outcome], None],
    ) -> None:
        self._store = store
        self._registry = registry
        self._caller = caller
        self._change = change
        self._suspended = suspended
        self._debug = debug

    async def begin(
        self,
        run: Run,
        iteration: int,
        pending: list[JournalEffect],
        running: frozenset[str],
    ) -> Decision:
        """Which effects run now."""
        payload = {"runId": run.run_id, "iteration": iteration, "timestamp": self._store.now()}
        tick = Tick(pending, running, "waiting")
        answer = await self._ask(START, run, payload, tick)
        return self._decide(run, answer)

    async def end(self, run: Run, iteration: int, status: str) -> bool:
        """Whether another tick is needed."""
        payload = {
            "runId": run.run_id,
            "iteration": iteration,
            "status": status,
            "timestamp": self._store.now(),
        }
        with self._store.read() as view:
            pending = view.runs.pending(run)
        answer = await self._ask(END, run, payload, Tick(pending, frozenset(), status))
        return bool(answer.get("needsMoreIterations", status == "waiting"))

    def _decide(self, run: Run, answer: dict[str, Any]) -> Decision:
        tasks = tuple(str(task) for task in answer.get("tasks") or ())
        if answer["action"] == "waiting":
            wait = answer.get("waitSeconds")
            return Decision((), time.time() + float(wait) if wait is not None else None)
        if answer["action"] == "schedule":
            moment = seconds(str(answer["executeAt"]))

            def schedule(tx: Transaction) -> None:
                for task in tasks:
                    if tx.runs.choose(run, task):
                        tx.runs.postpone(run, task, moment)

            self._change(schedule)
            return Decision((), moment)
        return Decision(tasks)

    async def _ask(
        self, point: str, run: Run, payload: dict[str, Any], tick: Tick
    ) -> dict[str, Any]:
        with self._store.read() as view:
            switches = view.calls.switches()
        hooks = [
            hook
            for hook in self._registry.subscribers(point)
            if switches.get(hook.name, hook.enabled)
        ]
        call = self._caller_for(point, run, payload, hooks, tick)
        answer: dict[str, Any] = await dispatch(RULES["steer"], hooks, payload, call)
        return answer

    def _caller_for(
        self, point: str, run: Run, payload: dict[str, Any], hooks: list[Hook], tick: Tick
    ) -> Callable[[Hook, dict[str, Any]], Awaitable[Outcome]]:
        recorded: dict[str, Delivery] = {}
        event: Event | None = None
        if any(hook.kind != "built-in" for hook in hooks):
            event, recorded = self._open(point, run, payload, hooks)

        async def call(hook: Hook, given: dict[str, Any]) -> Outcome:
            native = NATIVE.get(hook.target) if hook.kind == "built-in" else None
            if native is not None:
                outcome = Outcome(hook.name, OK, native(given, tick))
            else:
                outcome = await self._call(hook, point, given, event, recorded[hook.name])
            if event is not None:
                self._finish(event, recorded[hook.name], outcome)
            self._debug(hook.name, given, outcome)
            return outcome

        return call

    async def _call(
        self, hook: Hook, point: str, payload: dict[str, Any], event: Event | None, row: Delivery
    ) -> Outcome:
        reason = self._suspended(hook.name)
        if reason is not None:
            return Outcome(hook.name, "skipped", None, reason)
        frame = Frame(point, RULES["steer"], payload, f"{event.id if event else ''}:{row.id}")
        return await self._caller.call(hook, frame)

    def _open(
        self, point: str, run: Run, payload: dict[str, Any], hooks: list[Hook]
    ) -> tuple[Event, dict[str, Delivery]]:
        def open_rows(tx: Transaction) -> tuple[Event, dict[str, Delivery]]:
            event = tx.append("run_iteration", run.run_id, {"point": point, **payload})
            tx.calls.freeze(event.seq, payload)
            for position, hook in enumerate(hooks):
                row = Delivery(
                    *(0, event.seq, hook.name, point, hook.kind, hook.origin, PENDING, position),
                    attempts=1,
                    started_at=tx.now,
                    condition=hook.when,
                )
                tx.calls.add(row)
            return event, {row.hook: row for row in tx.calls.deliveries(event.seq)}

        found: tuple[Event, dict[str, Delivery]] = self._change(open_rows)
        return found

    def _finish(self, event: Event, row: Delivery, outcome: Outcome) -> None:
        def finish(tx: Transaction) -> None:
            tx.calls.finish(row, outcome)
            if failed(outcome):
                report_hook_error(tx, event, row.hook, outcome.error or "failed")

        self._change(finish)
