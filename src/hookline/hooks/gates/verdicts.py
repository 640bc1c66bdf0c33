"""The verdicts of gates on a task's work, read from the record of their calls.

A person can override a gate, which is recorded as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import FIRED, Event
from hookline.domain.hooks.answers import AUTO_ACCEPTED, GateAnswer, stored_answer
from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import CUT, OK, PENDING, SKIPPED, TIMEOUT, Delivery
from hookline.domain.runs.model import run_of_place
from hookline.domain.work.submissions import AGENT, BUDGET, FORGE, PEOPLE, SIGNAL, TRUST
from hookline.points import GATE, rule_of
from hookline.tasks.registrations import adopted_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import Transaction, View

# What a merge waits for besides its gates, and the effect that found it out.
_ASKED_BY = {TRUST: "merge", PEOPLE: "ask_people", FORGE: "merge"}
# What a turn that cannot be taken says, by the signal that its run waits for.
_BEFORE_TURN = {BUDGET: "unpaid", AGENT: "problem"}
# In the context of a gate's answer: there is no verdict on the work yet.
NO_VERDICT = "noVerdict"
# Every agent that could review has worked on the task.
OWN_WORK = "ownWork"
# The forge did not do what the gate asked of it, and the message says what helps.
FORGE_FAILED = "forgeFailed"
NO_VERDICT_YET = "there is no verdict yet"
OVERRIDDEN, STARTED = "gate_overridden", "task_started"


class GateVerdict(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What one gate said; without a `hook`, there was no gate. `run` is None for a trial.

    `call` is the name of the firing in the log. A gate that `broke` has not checked the work, so an
    agent has nothing to fix.
    """

    point: str
    hook: str | None
    status: str
    message: str = ""
    remediation_prompt: str | None = None
    context: dict[str, Any] = {}
    started_at: str | None = None
    duration_ms: float | None = None
    exit_code: int | None = None
    timed_out: bool = False
    broke: bool = False
    output: str = ""
    run: str | None = None
    call: str | None = None
    seq: int

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide."""
        return self.status == "pending" and self.context.get("waitsFor") == "person"

    @property
    def is_under_way(self) -> bool:
        """Whether the gate is still being asked, so that this is not a verdict yet."""
        return self.status == "pending" and self.duration_ms is None

    @property
    def news(self) -> object:
        """What is told once: gates that wait are asked again and again, and say the same."""
        place = None if self.status == "pending" else self.seq
        return (place, self.run, self.point, self.hook, self.message)


def verdicts(view: View, task_id: str, after: int = 0) -> Iterator[GateVerdict]:
    """Every verdict on a task's work after a position in the log, in order."""
    for event in view.log.events(node_id=task_id, types=(FIRED, OVERRIDDEN), after=after):
        if event.type == OVERRIDDEN:
            yield _overridden(event)
        elif rule_of(event.data["point"]) == GATE:
            if event.data.get("autoAccepted"):
                yield _accepted(event)
            yield from (_verdict(event, row) for row in view.calls.deliveries(event.seq))


def verdicts_of(view: View, run: Run) -> list[GateVerdict]:
    """What gates said that a run asked, in order."""
    found = verdicts(view, run.input["taskId"])
    return [each for each in found if each.run == run.run_id]


def asked_person(view: View, run: Run) -> GateVerdict | None:
    """The verdict for which a run waits for a person; None if it does not."""
    if (merge := merge_wait(view, run)) is not None:
        return merge if merge.waits_for_person else None
    if not any(_is_question(effect) for effect in view.runs.pending(run)):
        return None
    own = [each for each in verdicts_of(view, run) if each.waits_for_person]
    return own[-1] if own else None


def merge_wait(view: View, run: Run) -> GateVerdict | None:
    """What a merge waits for besides its gates: a person's trust or merge, or the forge."""
    for effect in view.runs.pending(run):
        if effect.kind == "signal" and effect.args["name"] in _BEFORE_TURN:
            return _asks_for_turn(view, run, effect)
        if effect.kind == "signal" and effect.args["name"] in _ASKED_BY:
            return _asks_for_merge(view, run, effect)
    return None


def _is_question(effect: JournalEffect) -> bool:
    """Gates that wait for anything but a person are asked again after a while."""
    args = effect.args
    return effect.kind == "signal" and args["name"] == SIGNAL and args.get("maxAge") is None


def _asks_for_turn(view: View, run: Run, wait: JournalEffect) -> GateVerdict:
    """What a run says whose agent has no money or cannot work: for a fix, or for a gate."""
    name = wait.args["name"]
    said = [e.value for e in view.runs.effects(run) if e.kind == "agent"]
    last = said[-1].get(_BEFORE_TURN[name]) if said and isinstance(said[-1], dict) else None
    if last is None:
        own = [each for each in verdicts_of(view, run) if each.context.get("waitsFor") == name]
        last = {"message": own[-1].message, **own[-1].context} if own else {}
    told = [last.get("message") or "its agent cannot take a turn", last.get("help")]
    return GateVerdict(
        point="turn",
        hook=name,
        status="pending",
        message=". ".join(each for each in told if each),
        context={"waitsFor": "person", **{key: last.get(key) for key in ("option", "command")}},
        started_at=wait.requested_at,
        run=run.run_id,
        seq=wait.requested_seq,
    )


def _asks_for_merge(view: View, run: Run, wait: JournalEffect) -> GateVerdict:
    """What a waiting merge says."""
    name = wait.args["name"]
    asked = ("repo", _ASKED_BY[name])
    found = [e.value for e in view.runs.effects(run) if (e.kind, e.args.get("verb")) == asked]
    last = found[-1] if isinstance(found[-1], dict) else {}
    kept = {key: last.get(key) for key in ("sha", "base", "command")}
    return GateVerdict(
        point="merge",
        hook=name,
        status="pending",
        message=last.get("message", ""),
        context={"waitsFor": last.get("waitsFor", "person"), **kept},
        started_at=wait.requested_at,
        run=run.run_id,
        seq=wait.requested_seq,
    )


def _accepted(event: Event) -> GateVerdict:
    return GateVerdict(
        point=event.data["point"],
        hook=None,
        status="success",
        message=AUTO_ACCEPTED,
        started_at=event.timestamp,
        run=run_of(event),
        seq=event.seq,
    )


def _overridden(event: Event) -> GateVerdict:
    found = override_of(event)
    return GateVerdict(
        point=found.point,
        hook=found.hook,
        status="skip",
        message=f"overridden by {found.by}: {found.reason}",
        started_at=event.timestamp,
        seq=event.seq,
    )


def _verdict(event: Event, row: Delivery) -> GateVerdict:
    answer = stored_answer(row.answer, GateAnswer)
    context = answer.context if answer else {}
    status, message = _meaning(row, answer)
    # Whether it failed itself, or its gatekeepers have not reviewed the work.
    has_no_verdict = row.status != OK or answer is None or bool(context.get(NO_VERDICT))
    return GateVerdict(
        point=row.point,
        hook=row.hook,
        status=status,
        message=message,
        remediation_prompt=answer.remediation_prompt if answer else None,
        context=context,
        started_at=row.started_at,
        duration_ms=None if row.duration_us is None else row.duration_us / 1000,
        exit_code=row.exit_code,
        timed_out=row.status == TIMEOUT,
        broke=status == "failure" and has_no_verdict,
        output="\n".join(part.rstrip() for part in (row.stdout, row.stderr) if part),
        run=run_of(event),
        call=event.data.get("name"),
        seq=event.seq,
    )


def _meaning(row: Delivery, answer: GateAnswer | None) -> tuple[str, str]:
    if row.status == OK and answer:
        return answer.status, answer.message
    if row.status == SKIPPED:
        return "skip", row.error or f"when {row.condition} is false"
    if row.status == PENDING:
        return "pending", "it was called and has not answered yet"
    if row.status == CUT:
        return "pending", "it was interrupted, and will be called again when its run resumes"
    why = "its recorded answer cannot be read" if row.status == OK else "it failed"
    return "failure", row.error or why  # a gate fails closed


def run_of(event: Event) -> str | None:
    """The run that fired a point, or that was steered; None for a trial."""
    return run_of_place(str(event.data.get("name") or event.node_id))


def said_by(status: str, message: str) -> str:
    """What a gate said, or that it waits if it has no message."""
    return message or (NO_VERDICT_YET if status == "pending" else "")


# Overrides.


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision that a gate does not apply to a task's work as it is, and why."""

    point: str
    hook: str
    reason: str
    by: str

    @property
    def line(self) -> str:
        """For the history of the repository: all of it on one line."""
        words = " ".join(f"{short_name(self.hook)}: {self.reason} (by {self.by})".split())
        return "".join(each for each in words if each.isprintable())


def record_override(tx: Transaction, task_id: str, override: Override) -> None:
    """Record an override."""
    tx.append(OVERRIDDEN, task_id, msgspec.to_builtins(override))


def override_of(event: Event) -> Override:
    """The override that an event records."""
    return typed.convert(event.data, Override)


def overrides(view: View, task_id: str) -> list[Override]:
    """Those that count: after new work on a task, all of its gates apply again."""
    found: list[Override] = []
    types, after = (OVERRIDDEN, STARTED), adopted_at(view.log)
    for event in view.log.events(node_id=task_id, types=types, after=after):
        found = [*found, override_of(event)] if event.type == OVERRIDDEN else []
    return found
