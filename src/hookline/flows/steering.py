"""Steering a run: hooks choose which effects run now, and say whether more is to come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec.structs import replace

from hookline.domain.events import STEERED, Event
from hookline.domain.hooks.records import CUT, OK, Delivery, Outcome, Reply
from hookline.domain.timestamps import LONGEST_WAIT, parse, seconds
from hookline.errors import BadInput, Fenced, HookFailure
from hookline.flows.builtin_steering import RunIteration, native_outcome, steering_values
from hookline.hooks.calls.firing import Tracked
from hookline.hooks.calls.rows import report_hook_error, write
from hookline.hooks.dispatch import dispatch
from hookline.hooks.rules import RULES, Called, PointRule
from hookline.points import rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.flows.own_flows import OwnFlows
    from hookline.hooks.calls.delivery import Owner
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.registry import Hook, HookRegistry
    from hookline.ports.store import Store, Transaction

START, END = "on-iteration-start", "on-iteration-end"
LONGEST_REASON = 500
# What steering stores about a run: a hook under way, and effects postponed to a time.
UNDER_WAY, SCHEDULE = "hookline.hook", "hookline.schedule.{}"


class Decision(NamedTuple):
    """What is done in this iteration: effects to run, whether to wait, and how long at most."""

    tasks: tuple[str, ...] = ()
    wait_until: float | None = None
    waits: bool = False
    reason: str = ""


# The shape of an answer; a wrong one is a failure of its hook.


def check_answer(point: str, answer: Mapping[str, Any]) -> None:
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


def _named(answer: Mapping[str, Any]) -> tuple[str, ...]:
    tasks = answer.get("tasks")
    tasks = [] if tasks is None else tasks
    if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
        raise BadInput("`tasks` must be a list of effect ids")
    return tuple(dict.fromkeys(tasks))


def _wait(answer: Mapping[str, Any]) -> float | None:
    wait = answer.get("waitSeconds")
    if wait is None:
        return None
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        raise BadInput("`waitSeconds` must be a number of seconds, at most 100 years")
    return float(wait)


def _moment(answer: Mapping[str, Any]) -> float:
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


STEER_RULES: dict[str, PointRule] = {
    START: replace(RULES["steer"], read=_reader(START)),
    END: replace(RULES["steer"], read=_reader(END), stops=_says_more, fold=_fold_end),
}


def rule_at(point: str) -> PointRule:
    """The rule of a point, which also checks what hooks that steer answer."""
    return STEER_RULES.get(point) or RULES[rule_of(point)]


class Chooses(Protocol):
    """Chooses what runs in an iteration of a run, and whether another one follows."""

    async def begin(
        self, run: Run, iteration: int, pending: list[JournalEffect], running: frozenset[str]
    ) -> Decision:
        """Which effects run now."""

    async def end(self, run: Run, iteration: int, status: str) -> bool:
        """Whether another iteration is needed."""


@dataclass
class Steering:
    """Asks the hooks at both ends of an iteration."""

    registry: HookRegistry
    recorder: Recorder
    own: OwnFlows
    debug: Callable[[str, dict[str, Any], Outcome], None]
    runs_folder: str | None = None
    owner: Owner | None = None

    @property
    def store(self) -> Store:
        """The store of runs and calls."""
        return self.recorder.store

    async def begin(
        self, run: Run, iteration: int, pending: list[JournalEffect], running: frozenset[str]
    ) -> Decision:
        """Which effects run now."""
        with self.store.read() as view:
            orphan = view.runs.value(run.run_id, UNDER_WAY)
            schedule = view.runs.value(run.run_id, SCHEDULE.format(run.chapter)) or {}
        if orphan:
            self._end_orphan(run, orphan)
        payload = {"runId": run.run_id, "iteration": iteration, "timestamp": self.store.now()}
        asking = _Asking(
            self, START, run, RunIteration(pending, running, "waiting", self.store.time())
        )
        answer = await asking.ask(payload)
        # Postponed effects whose time has come run now, whatever the hooks choose.
        waiting = {effect.effect_id for effect in pending}
        now = self.store.time()
        due = [t for t, moment in schedule.items() if moment <= now and t in waiting]
        decision = self._decide(run, answer, due)
        asking.report_unknown(_named(answer))
        return decision._replace(tasks=(*due, *decision.tasks)) if due else decision

    async def end(self, run: Run, iteration: int, status: str) -> bool:
        """Whether another iteration is needed."""
        known = status if status in ("waiting", "completed") else "failed"
        payload = {"runId": run.run_id, "iteration": iteration, "status": known}
        payload["timestamp"] = self.store.now()
        with self.store.read() as view:
            pending = view.runs.pending(run)
        asking = _Asking(
            self, END, run, RunIteration(pending, frozenset(), known, self.store.time())
        )
        answer = await asking.ask(payload)
        return bool(answer.get("needsMoreIterations", known == "waiting"))

    def write(self, run: Run, change: Callable[[Transaction], Any]) -> Any:
        """Change something about a run, unless another process has taken it over."""

        def guarded(tx: Transaction) -> Any:
            holder = tx.runs.leases.holder(run.run_id)[0]
            if self.owner is not None and holder not in (None, self.owner.name):
                raise Fenced
            tx.metadata = self.own.origin(tx.metadata, run)
            return change(tx)

        return self.recorder.change(guarded)

    def _decide(self, run: Run, answer: Mapping[str, Any], due: list[str]) -> Decision:
        action = answer["action"]
        if action == "waiting":
            reason = answer.get("reason", "")[:LONGEST_REASON]
            wait = _wait(answer)
            until = None if wait is None else self.store.time() + wait
            return Decision((), until, waits=True, reason=reason)
        if action == "none":
            return Decision()
        tasks = _named(answer)
        moment = _moment(answer) if action == "schedule" else 0.0
        if moment <= self.store.time():
            return Decision(tasks)
        put_off = [task for task in tasks if task not in due]

        def schedule(tx: Transaction) -> None:
            name = SCHEDULE.format(run.chapter)
            kept = tx.runs.value(run.run_id, name) or {}
            for task in put_off:
                tx.runs.attempts.postpone(run, task, moment)
            tx.runs.set_value(run.run_id, name, {**kept, **dict.fromkeys(put_off, moment)})

        self.write(run, schedule)
        return Decision((), moment, waits=True)

    def _end_orphan(self, run: Run, orphan: Mapping[str, Any]) -> None:
        """Kill a hook that a dead process left behind, before its successor starts."""
        with self.store.read() as view:
            rows = view.calls.deliveries(orphan["event"])
        row = next(each for each in rows if each.hook == orphan["hook"])
        if self.owner is not None and row.child:
            self.owner.end_child(row.child)
        elif self.owner is not None:  # its process may have been started and not recorded
            self.owner.end_strays(orphan["key"])
        died = Outcome(row.hook, CUT, None, "the process that called it ended")

        def close(tx: Transaction) -> None:
            event = tx.log.find(row.event_seq)
            assert event is not None  # a call is written with its event
            tx.runs.set_value(run.run_id, UNDER_WAY, None)
            write(tx, event, row, died)

        self.write(run, close)


@dataclass
class _Asking:
    """One firing of one of the two points for one run: its hooks, and the record of each."""

    steering: Steering
    point: str
    run: Run
    iteration: RunIteration
    _tracked: Tracked | None = field(default=None, init=False)
    _decided_by: str = field(default="", init=False)

    async def ask(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The combined answer of the hooks at this point."""
        steering, rule = self.steering, STEER_RULES[self.point]
        hooks = steering.recorder.enabled(steering.registry.subscribers(self.point))
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
        steering.debug(f"{self.point}: decision", payload, decided)
        return answer

    def report_unknown(self, tasks: tuple[str, ...]) -> None:
        """Report hooks that named unknown effects; the others are carried out."""
        pending = {effect.effect_id for effect in self.iteration.pending}
        unsure = [task for task in tasks if task not in pending]
        if not unsure or self._tracked is None:
            return
        event = self._tracked.event
        with self.steering.store.read() as view:
            known = {effect.effect_id for effect in view.runs.effects(self.run)}
        unknown = [task for task in unsure if task not in known]
        if unknown:
            shown = ", ".join(f"'{task[:80]}'" for task in unknown[:5])
            error = f"it named {shown}, which {self.run.run_id} does not have"

            def report(tx: Transaction) -> None:
                report_hook_error(tx, event, self._decided_by, error)
                tx.calls.complain(event.seq, self._decided_by, self.point, error)

            self._change(report)

    async def _call(self, hook: Hook, rule: PointRule, payload: dict[str, Any]) -> Outcome:
        outcome = native_outcome(hook, payload, self.iteration)
        if outcome is None:
            assert self._tracked is not None  # only built-in hooks are called without a record
            return await self._tracked.call(hook, rule, payload)
        if self._tracked is not None:
            self._tracked.record(hook, outcome)
        return outcome

    # The record

    def _change(self, change: Callable[[Transaction], Any]) -> Any:
        return self.steering.write(self.run, change)

    def _track(self, payload: dict[str, Any]) -> Tracked:
        def begin(tx: Transaction, row: Delivery, key: str) -> None:
            under_way = {"event": row.event_seq, "hook": row.hook, "key": key}
            tx.runs.set_value(self.run.run_id, UNDER_WAY, under_way)

        def end(tx: Transaction, row: Delivery) -> None:
            if row.id:
                tx.runs.set_value(self.run.run_id, UNDER_WAY, None)

        def open_(tx: Transaction) -> Event:
            event = tx.append(STEERED, self.run.run_id, {"point": self.point, **payload})
            tx.calls.freeze(event.seq, payload)
            return event

        values = steering_values(self.run, self.steering.runs_folder)
        event = self._change(open_)
        recorder = self.steering.recorder
        return Tracked(recorder, event, self._change, values=values, on_begin=begin, on_end=end)
