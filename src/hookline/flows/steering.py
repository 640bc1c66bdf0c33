"""Steering a run: hooks choose which effects run now, and say whether more is to come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.events import STEERED
from hookline.domain.moments import LONGEST_WAIT, parse, seconds
from hookline.domain.records import CUT, OK, Outcome
from hookline.errors import BadInput, Fenced, HookFailure
from hookline.flows import journal
from hookline.flows.native import NATIVE, Tick
from hookline.flows.run_folder import run_folder
from hookline.hooks.calls.firing import Tracked
from hookline.hooks.calls.rows import report_hook_error, write
from hookline.hooks.dispatch import dispatch
from hookline.hooks.rules import RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.events import Event
    from hookline.domain.records import Delivery, Reply
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.calls.delivery import Owner
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.registry import Hook, HookRegistry
    from hookline.hooks.rules import Called
    from hookline.ports.store import Transaction

START, END = "on-iteration-start", "on-iteration-end"
LONGEST_REASON = 500
# What steering itself remembers of a run: a hook under way, and effects put off to a moment.
UNDER_WAY, SCHEDULE = "hookline.hook", "hookline.schedule.{}"


class Decision(NamedTuple):
    """What is done in this tick: effects to carry out, whether to wait, and how long at most."""

    tasks: tuple[str, ...] = ()
    wait_until: float | None = None
    waits: bool = False
    reason: str = ""


# What an answer must look like; one that does not is a failure of its hook.


def check_answer(point: str, answer: dict[str, Any]) -> None:
    """Refuse an answer that cannot be acted on, naming the field."""
    if point == END:
        if not isinstance(answer.get("needsMoreIterations", True), bool):
            raise BadInput("`needsMoreIterations` must be true or false")
        return
    if not isinstance(answer.get("action"), str):
        raise BadInput("the answer has no `action`")
    _named(answer)
    if answer["action"] == "waiting":
        _wait(answer)
        if not isinstance(answer.get("reason", ""), str):
            raise BadInput("`reason` must be text")
    elif answer["action"] == "schedule":
        _moment(answer)


def _named(answer: dict[str, Any]) -> tuple[str, ...]:
    tasks = answer.get("tasks")
    if tasks is None:
        tasks = []
    if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
        raise BadInput("`tasks` must be a list of effect ids")
    return tuple(dict.fromkeys(tasks))


def _wait(answer: dict[str, Any]) -> float | None:
    wait = answer.get("waitSeconds")
    if wait is None:
        return None
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        raise BadInput("`waitSeconds` must be a number of seconds, 100 years at most")
    return time.time() + wait


def _moment(answer: dict[str, Any]) -> float:
    moment = answer.get("executeAt")
    if not isinstance(moment, str):
        raise BadInput("`schedule` needs `executeAt`, a time such as 2026-01-17T10:00:00Z")
    return seconds(parse(moment))


def _says_more(outcome: Outcome) -> bool:
    return outcome.status == OK and "needsMoreIterations" in outcome.answer


def _fold_end(called: Sequence[Called]) -> dict[str, Any]:
    return dict(called[-1][1].answer) if called and _says_more(called[-1][1]) else {}


def _reader(point: str) -> Callable[[Reply, Hook], dict[str, Any]]:
    def read(reply: Reply, hook: Hook) -> dict[str, Any]:
        answer: dict[str, Any] = RULES["steer"].read(reply, hook)
        try:
            check_answer(point, answer)
        except BadInput as problem:
            said = f"its answer cannot be read: {problem.message}"
            raise HookFailure(said, stdout=reply.text, stderr=reply.stderr) from problem
        return answer

    return read


STEER_RULES: dict[str, Rule] = {
    START: RULES["steer"]._replace(read=_reader(START)),
    END: RULES["steer"]._replace(read=_reader(END), stops=_says_more, fold=_fold_end),
}


class Steering:
    """Asks the hooks at both ends of a tick."""

    def __init__(
        self,
        registry: HookRegistry,
        recorder: Recorder,
        *,
        debug: Callable[[str, dict[str, Any], Outcome], None],
        runs_folder: str | None = None,
        owner: Owner | None = None,
    ) -> None:
        self.store = recorder.store
        self.registry = registry
        self.recorder = recorder
        self.debug = debug
        self.runs_folder = runs_folder
        self._owner = owner

    async def begin(
        self,
        run: Run,
        iteration: int,
        pending: list[JournalEffect],
        running: frozenset[str],
    ) -> Decision:
        """Which effects run now."""
        orphan, schedule = self._remembered(run)
        if orphan:
            self._end_orphan(run, orphan)
        payload = {"runId": run.run_id, "iteration": iteration, "timestamp": self.store.now()}
        asking = _Asking(self, START, run, Tick(pending, running, "waiting"))
        answer = await asking.ask(payload)
        # What was put off to a moment that has come runs now, whatever the hooks choose.
        waiting = {effect.effect_id for effect in pending}
        due = [t for t, moment in schedule.items() if moment <= time.time() and t in waiting]
        decision = self._decide(run, answer, due)
        asking.report_unknown(_named(answer))
        return decision._replace(tasks=(*due, *decision.tasks)) if due else decision

    async def end(self, run: Run, iteration: int, status: str) -> bool:
        """Whether another tick is needed."""
        known = status if status in ("waiting", "completed") else "failed"
        payload = {
            "runId": run.run_id,
            "iteration": iteration,
            "status": known,
            "timestamp": self.store.now(),
        }
        with self.store.read() as view:
            pending = view.runs.pending(run)
        asking = _Asking(self, END, run, Tick(pending, frozenset(), known))
        answer = await asking.ask(payload)
        return bool(answer.get("needsMoreIterations", known == "waiting"))

    def write(self, run: Run, change: Callable[[Transaction], Any]) -> Any:
        """Change something about a run, unless another process has taken it over."""

        def guarded(tx: Transaction) -> Any:
            holder = tx.runs.holder(run.run_id)[0]
            if self._owner is not None and holder not in (None, self._owner.name):
                raise Fenced
            tx.metadata = journal.origin(tx.metadata, run)
            return change(tx)

        return self.recorder.change(guarded)

    def run_folder(self, run: Run) -> dict[str, str]:
        """The variable that names a run's own folder, which is there from now on."""
        if self.runs_folder is None:
            return {}
        return {"run_dir": run_folder(self.runs_folder, run)}

    def _remembered(self, run: Run) -> tuple[dict[str, Any] | None, dict[str, float]]:
        with self.store.read() as view:
            orphan = view.runs.value(run.run_id, UNDER_WAY)
            return orphan, view.runs.value(run.run_id, SCHEDULE.format(run.chapter)) or {}

    def _decide(self, run: Run, answer: dict[str, Any], due: list[str]) -> Decision:
        action = answer["action"]
        if action == "waiting":
            reason = answer.get("reason", "")[:LONGEST_REASON]
            return Decision((), _wait(answer), waits=True, reason=reason)
        if action == "none":
            return Decision()
        tasks = _named(answer)
        moment = _moment(answer) if action == "schedule" else 0.0
        if moment <= time.time():
            return Decision(tasks)
        put_off = [task for task in tasks if task not in due]

        def schedule(tx: Transaction) -> None:
            name = SCHEDULE.format(run.chapter)
            kept = tx.runs.value(run.run_id, name) or {}
            for task in put_off:
                tx.runs.postpone(run, task, moment)
            tx.runs.set_value(run.run_id, name, {**kept, **dict.fromkeys(put_off, moment)})

        self.write(run, schedule)
        return Decision((), moment, waits=True)

    def _end_orphan(self, run: Run, orphan: dict[str, Any]) -> None:
        """A hook that a process left behind when it died must not go on beside its successor."""
        with self.store.read() as view:
            rows = view.calls.deliveries(orphan["event"])
        row = next(each for each in rows if each.hook == orphan["hook"])
        if self._owner is not None and row.child:
            self._owner.end_child(row.child)
        elif self._owner is not None:  # its process was started, and perhaps not yet recorded
            self._owner.end_strays(orphan["key"])
        died = Outcome(row.hook, CUT, None, "the process that called it ended")

        def close(tx: Transaction) -> None:
            event = tx.log.find(row.event_seq)
            assert event is not None  # a call is written with its event
            tx.runs.set_value(run.run_id, UNDER_WAY, None)
            write(tx, event, row, died)

        self.write(run, close)


class _Asking:
    """One firing of one of the two points for one run: its hooks, and the record of each."""

    def __init__(self, steering: Steering, point: str, run: Run, tick: Tick) -> None:
        self._steering = steering
        self._point = point
        self._run = run
        self._tick = tick
        self._tracked: Tracked | None = None
        self._decided_by = ""

    async def ask(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The one answer of the hooks at this point."""
        steering, rule = self._steering, STEER_RULES[self._point]
        hooks = steering.recorder.enabled(steering.registry.subscribers(self._point))
        if any(hook.kind != "built-in" for hook in hooks):
            self._tracked = self._track(payload)

        async def call(hook: Hook, payload: dict[str, Any]) -> Outcome:
            outcome = await self._call(hook, rule, payload)
            steering.debug(hook.name, payload, outcome)
            if outcome.status == OK:
                self._decided_by = hook.name
            return outcome

        answer: dict[str, Any] = await dispatch(rule, hooks, payload, call)
        decided = Outcome(self._decided_by, OK, answer)
        steering.debug(f"{self._point}: decision", payload, decided)
        return answer

    def report_unknown(self, tasks: tuple[str, ...]) -> None:
        """Say which hook named effects that the run does not have; the others are carried out."""
        pending = {effect.effect_id for effect in self._tick.pending}
        unsure = [task for task in tasks if task not in pending]
        if not unsure or self._tracked is None:
            return
        event = self._tracked.event
        with self._steering.store.read() as view:
            known = {effect.effect_id for effect in view.runs.effects(self._run)}
        unknown = [task for task in unsure if task not in known]
        if unknown:
            shown = ", ".join(f"'{task[:80]}'" for task in unknown[:5])
            error = f"it named {shown}, which {self._run.run_id} does not have"

            def report(tx: Transaction) -> None:
                report_hook_error(tx, event, self._decided_by, error)
                tx.calls.complain(event.seq, self._decided_by, self._point, error)

            self._change(report)

    async def _call(self, hook: Hook, rule: Rule, payload: dict[str, Any]) -> Outcome:
        native = NATIVE.get(hook.target) if hook.kind == "built-in" else None
        if native is None:
            assert self._tracked is not None  # only natives are called without a record
            return await self._tracked.call(hook, rule, payload)
        answer = native(payload, self._tick)
        if self._tracked is None:
            return Outcome(hook.name, OK, answer)
        return self._tracked.answered(hook, answer)

    # The record

    def _change(self, change: Callable[[Transaction], Any]) -> Any:
        return self._steering.write(self._run, change)

    def _track(self, payload: dict[str, Any]) -> Tracked:
        def begin(tx: Transaction, row: Delivery, key: str) -> None:
            under_way = {"event": row.event_seq, "hook": row.hook, "key": key}
            tx.runs.set_value(self._run.run_id, UNDER_WAY, under_way)

        def end(tx: Transaction, row: Delivery) -> None:
            if row.id:
                tx.runs.set_value(self._run.run_id, UNDER_WAY, None)

        def open_(tx: Transaction) -> Event:
            event = tx.append(STEERED, self._run.run_id, {"point": self._point, **payload})
            tx.calls.freeze(event.seq, payload)
            return event

        values = {**self._steering.run_folder(self._run), "flow": self._run.flow}
        event = self._change(open_)
        recorder = self._steering.recorder
        return Tracked(recorder, event, self._change, values=values, on_begin=begin, on_end=end)
