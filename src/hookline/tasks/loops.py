"""Loops: an agent iterates on a task until its work is found to be complete.

A loop is a fold of its task's events since `iteration_started`; its id is that event's place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hookline import typed
from hookline.domain.sessions.limits import Progress, SessionLimits, after_iteration, reached
from hookline.domain.tasks import ACTIVE
from hookline.errors import LIMIT, BadInput, HooklineError, IllegalTransition
from hookline.tasks import registrations, verbs
from hookline.tasks.log_ids import find_event, name_of
from hookline.tasks.verbs import ANYONE, Holder, optional_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.domain.events import Event
    from hookline.ports.store import EventLog, Transaction

STARTED, VALIDATED = "iteration_started", "iteration_validated"
ADVANCED, COMPLETED = "iteration_advanced", "iteration_completed"
PROMISES = ("COMPLETE", "BLOCKED", "ESCALATE")
Signal = Literal["CONTINUE", "COMPLETE", "ESCALATE"]


class UnknownIteration(HooklineError, code="unknown-iteration"):
    """There is no such loop of iterations."""

    help = "call iteration_start; its answer has the iterationId"


class LoopOver(HooklineError, code="loop-over"):
    """This loop is over."""


class LoopLimit(HooklineError, code="loop-limit", exit_code=LIMIT):
    """This loop has reached a limit."""

    def __init__(self, reason: str, message: str, *, help: str) -> None:
        super().__init__(message, help=help)
        self.reason = reason


class NotComplete(HooklineError, code="not-complete"):
    """The project's stop hooks have not found this work complete."""


class LoopPlan(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What a loop was started with; the rules are as the agent wrote them, checked before.

    `base_state` names the files as the loop found them.
    """

    limits: SessionLimits
    completion_promises: tuple[str, ...] = PROMISES
    validation_rules: tuple[dict[str, Any], ...] = ()
    execution_phase: str | None = None
    base_tree: str | None = None
    base_state: str | None = None


class LoopFinding(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What one validation of an iteration found, and the state of the files that it saw.

    `output` is a digest of the agent's words.
    """

    iteration: int
    signal: Signal
    decision: dict[str, Any]
    results: tuple[dict[str, Any], ...] = ()
    promises: tuple[dict[str, Any], ...] = ()
    files_modified: tuple[str, ...] = ()
    files_reported: tuple[str, ...] = ()
    output: str = ""
    fingerprint: str | None = None
    state: str | None = None
    git_error: str | None = None


class Loop(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A loop's current state; `state` names the files as the current iteration found them."""

    id: str
    task_id: str
    plan: LoopPlan
    started_at: str
    progress: Progress
    iteration: int = 1
    finding: LoopFinding | None = None
    state: str | None = None
    over: str | None = None


def start(tx: Transaction, task: str, plan: LoopPlan, *, holder: Holder = ANYONE) -> Loop:
    """Start a loop on a task, and the task if it is not started; it replaces the last loop."""
    found = tx.graph.task(task)
    if found.state == ACTIVE:
        verbs.check_holder(found, holder, tx.now)
    else:
        verbs.start(tx, found.id, holder=holder)
    event = tx.append(STARTED, found.id, {"plan": msgspec.to_builtins(plan)})
    return fold(event, ())


def find(log: EventLog, name: str) -> Loop:
    """A loop's current state, or UnknownIteration."""
    event = find_event(log, name, "IT", STARTED, UnknownIteration)
    types = (STARTED, VALIDATED, ADVANCED, COMPLETED)
    return fold(event, log.events(node_id=event.node_id, types=types, after=event.seq))


def find_open(log: EventLog, name: str) -> Loop:
    """A loop that still runs, or an error that says how it ended."""
    loop = find(log, name)
    if loop.over is not None:
        help = f"call iteration_start with taskId {loop.task_id} to begin another one"
        raise LoopOver(f"{loop.id} is over: {loop.over}", help=help)
    return loop


def validated(tx: Transaction, name: str, finding: LoopFinding) -> Loop:
    """Record what a validation found; one of an earlier iteration is refused."""
    loop = find_open(tx.log, name)
    if loop.iteration != finding.iteration:
        raise IllegalTransition(
            f"{loop.id} continued with iteration {loop.iteration} while iteration"
            f" {finding.iteration} was validated",
            help="call iteration_validate again",
        )
    data = {"iterationId": loop.id, "finding": msgspec.to_builtins(finding)}
    tx.append(VALIDATED, loop.task_id, data)
    return msgspec.structs.replace(loop, finding=finding)


def advance(tx: Transaction, name: str, state: str | None = None) -> Loop:
    """Begin the next iteration; refused where a limit or a guard is reached.

    It begins with the files that the last validation saw, without one with those of `state`.
    """
    loop = find_open(tx.log, name)
    progress = _progress(loop)
    limit = reached(loop.plan.limits, progress)
    if limit is not None:
        raise LoopLimit(
            limit.reason,
            f"{loop.id} cannot continue: {limit.message}",
            help=f"stop here: call task_block with taskId {loop.task_id} and say what is missing,"
            " then hook_clear",
        )
    data = {
        "iterationId": loop.id,
        "iteration": loop.iteration + 1,
        "progress": msgspec.to_builtins(progress),
        "state": loop.finding.state if loop.finding is not None else state,
    }
    tx.append(ADVANCED, loop.task_id, data)
    return find(tx.log, name)


def complete(
    tx: Transaction, name: str, promise: str, *, summary: str | None = None, guarded: bool = False
) -> tuple[Loop, int]:
    """End a loop and forget the hooks registered for it; (the loop, how many hooks).

    Where the project configures stop hooks the loop is `guarded`: COMPLETE needs their consent.
    """
    loop = find_open(tx.log, name)
    given = plain_promise(promise)
    if guarded and given == "COMPLETE" and (not loop.finding or loop.finding.signal != given):
        said = loop.finding.decision.get("reason") if loop.finding else None
        raise NotComplete(
            f"the stop hooks of this project have not found iteration {loop.iteration} complete"
            + (f": {said}" if said else ""),
            help="call iteration_validate and do what its nextPrompt says, until its"
            " completionSignal is COMPLETE",
        )
    data = {
        "iterationId": loop.id,
        "iteration": loop.iteration,
        "completionPromise": given,
        "summary": optional_text("summary", summary),
    }
    tx.append(COMPLETED, loop.task_id, data)
    return find(tx.log, name), registrations.clear(tx, loop.task_id)


def fold(started: Event, events: Iterable[Event]) -> Loop:
    """A loop from its events; those of other loops on the same task are left out."""
    plan = typed.convert(started.data["plan"], LoopPlan)
    loop = Loop(
        id=name_of("IT", started),
        task_id=started.node_id,
        plan=plan,
        started_at=started.timestamp,
        progress=Progress(trees=[plan.base_tree] if plan.base_tree else []),
        state=plan.base_state,
    )
    for event in events:
        if event.type == STARTED:
            over = loop.over or f"replaced by {name_of('IT', event)}"
            loop = msgspec.structs.replace(loop, over=over)
        elif event.data["iterationId"] == loop.id:
            loop = msgspec.structs.replace(loop, **_change(event))
    return loop


def plain_promise(text: str) -> str:
    """`COMPLETE` or `<promise>COMPLETE</promise>` as the name of the promise."""
    name = text.strip().removeprefix("<promise>").removesuffix("</promise>").strip()
    if name not in PROMISES:
        raise BadInput(f"{text[:60]!r} is not a promise", help=f"use one of {', '.join(PROMISES)}")
    return name


def _change(event: Event) -> dict[str, Any]:
    if event.type == VALIDATED:
        return {"finding": typed.convert(event.data["finding"], LoopFinding)}
    if event.type == ADVANCED:
        return {
            "iteration": event.data["iteration"],
            "progress": typed.convert(event.data["progress"], Progress),
            "finding": None,
            "state": event.data.get("state"),
        }
    return {"over": f"ended with {event.data['completionPromise']}"}


def _progress(loop: Loop) -> Progress:
    """What the loop has used when the current iteration ends here."""
    finding = loop.finding
    if finding is None:
        return msgspec.structs.replace(loop.progress, iterations=loop.iteration)
    passed = sum(bool(each["passed"]) for each in finding.results)
    total = len(finding.results)
    return after_iteration(
        loop.progress,
        # Failing rules are normal for an agent, unless the loop was started to count them.
        failed=bool(loop.plan.limits.failures) and passed < total,
        output=finding.output,
        fingerprint=finding.fingerprint,
        changed=_has_changed(loop.progress, finding.fingerprint),
        passed=passed if total else None,
        total=total or None,
        minutes=0.0,
        usd=0.0,
        tokens=0,
    )


def _has_changed(progress: Progress, fingerprint: str | None) -> bool:
    """Whether the files differ from the last iteration's; True if unknown."""
    return fingerprint is None or not progress.trees or progress.trees[-1] != fingerprint
