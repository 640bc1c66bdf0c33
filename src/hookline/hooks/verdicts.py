"""The verdicts of gates on a task's work, read from the record of their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRED
from hookline.domain.records import CUT, OK, PENDING, SKIPPED, TIMEOUT
from hookline.domain.submissions import FORGE, PEOPLE, SIGNAL, TRUST
from hookline.hooks.overrides import OVERRIDDEN, of_event
from hookline.points import GATE, rule_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.events import Event
    from hookline.domain.records import Delivery
    from hookline.domain.runs import JournalEffect, Run
    from hookline.ports.store import View

# What a merge waits for besides its gates, and the effect that found it out.
_ASKED_BY = {TRUST: "merge", PEOPLE: "ask_people", FORGE: "merge"}
# In the context of a gate's answer: nobody has judged the work yet.
NO_VERDICT = "noVerdict"
AUTO_ACCEPTED = "auto-accepted: no gate stands here"


class Verdict(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What one gate said; without a `hook`, no gate stood there. `run` is None for a trial.

    `call` is the name of the firing in the log. A gate that `broke` has not judged the work, so an
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
        """Whether the gate is still being asked, so that this is no verdict yet."""
        return self.status == "pending" and self.duration_ms is None


def verdicts(view: View, task_id: str, after: int = 0) -> Iterator[Verdict]:
    """Every verdict on a task's work after a place in the log, in order."""
    for event in view.log.events(node_id=task_id, types=(FIRED, OVERRIDDEN), after=after):
        if event.type == OVERRIDDEN:
            yield _overridden(event)
            continue
        if rule_of(event.data["point"]) != GATE:
            continue
        if event.data.get("autoAccepted"):
            yield _accepted(event)
        for row in view.calls.deliveries(event.seq):
            yield _verdict(event, row)


def asked_person(view: View, run: Run) -> Verdict | None:
    """The verdict that a run waits for a person with; None where no person can help."""
    pending = view.runs.pending(run)
    if (merge := merge_wait(view, run)) is not None:
        return merge if merge.waits_for_person else None
    if not any(_is_question(effect.kind, effect.args) for effect in pending):
        return None
    found = list(verdicts(view, run.input["taskId"]))
    own = [each for each in found if each.run == run.run_id and each.waits_for_person]
    return own[-1] if own else None


def merge_wait(view: View, run: Run) -> Verdict | None:
    """What a merge waits for besides its gates: a person's trust or merge, or the forge."""
    for effect in view.runs.pending(run):
        if effect.kind == "signal" and effect.args["name"] in _ASKED_BY:
            return _asks_for_merge(view, run, effect)
    return None


def _is_question(kind: str, args: dict[str, Any]) -> bool:
    """Gates that wait for anything but a person are asked again after a while."""
    return kind == "signal" and args["name"] == SIGNAL and args.get("maxAge") is None


def _asks_for_merge(view: View, run: Run, wait: JournalEffect) -> Verdict:
    """What a merge says that waits."""
    name = wait.args["name"]
    asked = ("repo", _ASKED_BY[name])
    found = [e.value for e in view.runs.effects(run) if (e.kind, e.args.get("verb")) == asked]
    last = found[-1] if isinstance(found[-1], dict) else {}
    kept = {key: last.get(key) for key in ("sha", "base", "command")}
    return Verdict(
        point="merge",
        hook=name,
        status="pending",
        message=last.get("message", ""),
        context={"waitsFor": last.get("waitsFor", "person"), **kept},
        started_at=wait.requested_at,
        run=run.run_id,
        seq=wait.requested_seq,
    )


def _accepted(event: Event) -> Verdict:
    return Verdict(
        point=event.data["point"],
        hook=None,
        status="success",
        message=AUTO_ACCEPTED,
        started_at=event.timestamp,
        run=run_of(event),
        seq=event.seq,
    )


def _overridden(event: Event) -> Verdict:
    found = of_event(event)
    return Verdict(
        point=found.point,
        hook=found.hook,
        status="skip",
        message=f"overridden by {found.by}: {found.reason}",
        started_at=event.timestamp,
        seq=event.seq,
    )


def _verdict(event: Event, row: Delivery) -> Verdict:
    answer = row.answer if isinstance(row.answer, dict) else {}
    status, message = _meaning(row, answer)
    return Verdict(
        point=row.point,
        hook=row.hook,
        status=status,
        message=message,
        remediation_prompt=answer.get("remediationPrompt"),
        context=answer.get("context") or {},
        started_at=row.started_at,
        duration_ms=None if row.duration_us is None else row.duration_us / 1000,
        exit_code=row.exit_code,
        timed_out=row.status == TIMEOUT,
        broke=status == "failure" and _is_own_failure(row, answer),
        output="\n".join(part.rstrip() for part in (row.stdout, row.stderr) if part),
        run=run_of(event),
        call=event.data.get("name"),
        seq=event.seq,
    )


def _meaning(row: Delivery, answer: dict[str, Any]) -> tuple[str, str]:
    if row.status == OK and answer:
        return answer["status"], answer.get("message", "")
    if row.status == SKIPPED:
        return "skip", row.error or f"when {row.condition} is false"
    if row.status == PENDING:
        return "pending", "it was called, and has not answered"
    if row.status == CUT:
        return "pending", "it was cut short, and is called again when its run goes on"
    return "failure", row.error or "it failed"  # a gate fails closed


def _is_own_failure(row: Delivery, answer: dict[str, Any]) -> bool:
    """Whether a gate failed itself, or those that it asks have not judged the work."""
    return row.status != OK or bool((answer.get("context") or {}).get(NO_VERDICT))


def run_of(event: Event) -> str | None:
    """The run that fired a point, or that was steered; None for a trial."""
    run = str(event.data.get("name") or event.node_id).partition("/")[0]
    return run if run[:2] == "R-" else None
