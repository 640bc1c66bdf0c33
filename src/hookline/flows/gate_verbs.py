"""What submitting and merging do to the store: each a part of one transaction, journaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import MERGED_UNTESTED
from hookline.domain.runs import INTERRUPTED, PARKED, TERMINAL
from hookline.domain.submissions import (
    FORGE,
    MERGE,
    PEOPLE,
    SIGNAL,
    SUBMIT,
    TRUST,
    Submission,
)
from hookline.domain.tasks import COMPLETED, OPEN
from hookline.errors import HooklineError
from hookline.flows import journal
from hookline.flows.gating import CODE_VERSION
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction, View

PLACE = "hookline.merge-place"
TURN = "merge-turn"


def start(
    tx: Transaction, flow: str, work: Submission, pins: dict[str, Any], state: Any = None
) -> str:
    """A run that submits or merges a task's work; the one that does so already, if there is one."""
    for other in open_runs(tx, flow):
        if other.input.get("taskId") == work.task_id:
            return other.run_id
    run_id = journal.start(
        tx, flow, msgspec.to_builtins(work), {}, code_digest=CODE_VERSION, pins=pins
    )
    tx.append("submission_started", work.task_id, {"run": run_id, "flow": flow})
    return run_id


def open_runs(view: View, flow: str) -> list[Run]:
    """The runs of a flow that are not over, the oldest first."""
    return [run for run in view.runs.of_flow(flow) if run.status not in TERMINAL]


def run_of(view: View, task_id: str) -> Run | None:
    """The run that a task's work is in, if it is on its way."""
    for flow in (MERGE, SUBMIT):
        for run in open_runs(view, flow):
            if run.input.get("taskId") == task_id:
                return run
    return None


def is_interrupted(run: Run) -> bool:
    """Whether a run only rests because the command that advanced it was interrupted."""
    why = (run.reason or "").partition(":")[0]
    return run.status == PARKED and run.wake_at is None and why == INTERRUPTED


def wake(tx: Transaction, run_id: str) -> None:
    """Let whoever serves runs go on with one that rests."""
    if is_interrupted(tx.runs.find(run_id)):
        _, token, _ = tx.runs.holder(run_id)
        tx.runs.let_go(run_id, token, 0.0)


def wait_of(view: View, run: Run) -> JournalEffect | None:
    """What gates of a run wait for that are asked again after a while, and not by a person."""
    found = (
        effect
        for effect in view.runs.pending(run)
        if effect.kind == "signal" and effect.args.get("name") in (SIGNAL, FORGE)
    )
    return next((each for each in found if each.args.get("maxAge") is not None), None)


def ask_again(tx: Transaction, run_id: str) -> None:
    """Have gates asked now that would be asked again after a while."""
    run = tx.runs.find(run_id)
    told = {name for _, name, _ in tx.runs.signals(run)}
    wait = wait_of(tx, run)
    if wait is not None and (name := wait.args["name"]) not in told:
        journal.write(tx, "run_signalled", run_id, {"name": name, "value": None})
    for name in (TRUST, PEOPLE):
        if _waits_for(tx, run, name) and name not in told:
            journal.write(tx, "run_signalled", run_id, {"name": name, "value": None})


def _waits_for(view: View, run: Run, name: str) -> bool:
    pending = view.runs.pending(run)
    return any((each.kind, each.args.get("name")) == ("signal", name) for each in pending)


def perform(tx: Transaction, run_id: str, args: dict[str, Any]) -> Any:
    """Carry out one verb; what it gives back is journaled."""
    return _VERBS[args["verb"]](tx, tx.runs.find(run_id), args)


def _without_commits(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """A task without any commit, such as a review, has nothing to pass a gate with."""
    task = _task(tx, run)
    if task is None or task.state == COMPLETED:
        return {"outcome": "completed"}
    elsewhere = args.get("elsewhere")
    if args["wanted"] == "complete" and not elsewhere:
        verbs.complete(tx, task.id, result=task.result or "done without a commit")
        return {"outcome": "completed"}
    reason = elsewhere or "there is no commit to submit"
    verbs.send_back(tx, task.id, reason=reason)
    return {"outcome": "sent_back", "reason": reason}


def _submitted(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    task = _task(tx, run)
    if task is not None and task.state in OPEN:
        _note_facts(tx, task, args)
        if task.state != "submitted":
            verbs.submit(tx, task.id, result=task.result)
    return {}


def _send_back(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """The work waits for someone to go on with it."""
    _leave_queue(tx, run, args)
    task = _task(tx, run)
    if task is not None and task.state in OPEN:
        _note_facts(tx, task, args)
        found = {name: args[name] for name in ("gate", "output", "attempts") if args.get(name)}
        verbs.send_back(tx, task.id, reason=args["reason"][:4000], found=found)
    return {}


def _merged(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    """Only now is the task completed: what depends on it builds on merged work."""
    task = _task(tx, run)
    if task is not None and task.state in OPEN:
        _note_facts(tx, task, args)
        if args.get("untested"):
            data = {"sha": args["sha"], "reason": args["untested"]}
            data |= {"unjudged": True} if args.get("unjudged") else {}
            tx.append(MERGED_UNTESTED, task.id, data)
        verbs.complete(tx, task.id, result=task.result, artifacts=[args["sha"]])
    return {}


def _start_merge(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    work = msgspec.convert(run.input, Submission)
    work = msgspec.structs.replace(work, conversation=args["conversation"], turns=args["turns"])
    pins = {name: value for name, value in run.pins.items() if name != "seq"}
    carried = {"context": args["context"], "submitted": args.get("submitted")}
    return {"runId": start(tx, MERGE, work, {**pins, **carried})}


# The queue of merges: who came first merges first, and nobody else meanwhile.


def _queue(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    if tx.runs.value(run.run_id, PLACE) is None:
        event = tx.append("merge_queued", run.run_id, {"taskId": run.input["taskId"]})
        tx.runs.set_value(run.run_id, PLACE, event.seq)
    first = _queued(tx)[0]
    return {"mine": first == run.run_id, "behind": first}


def _leave_queue(tx: Transaction, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    if tx.runs.value(run.run_id, PLACE) is not None:
        tx.runs.set_value(run.run_id, PLACE, None)
        for waiting in _queued(tx)[:1]:
            journal.write(tx, "run_signalled", waiting, {"name": TURN, "value": None})
    return {}


def _queued(view: View) -> list[str]:
    places = {run.run_id: view.runs.value(run.run_id, PLACE) for run in open_runs(view, MERGE)}
    return sorted((name for name in places if places[name] is not None), key=places.__getitem__)


_VERBS: dict[str, Callable[[Transaction, Run, dict[str, Any]], Any]] = {
    "without_commits": _without_commits,
    "submitted": _submitted,
    "send_back": _send_back,
    "merged": _merged,
    "start_merge": _start_merge,
    "queue": _queue,
    "leave_queue": _leave_queue,
}


def _task(tx: Transaction, run: Run) -> Task | None:
    return tx.graph.find(run.input["taskId"])


def _note_facts(tx: Transaction, task: Task, args: dict[str, Any]) -> None:
    named = {"prUrl": "prUrl", "commits": "commitsCount", "turns": "turnsUsed"}
    changes = {wire: args[name] for name, wire in named.items() if args.get(name) is not None}
    if changes:
        try:
            with tx.nested():
                verbs.update(tx, task.id, changes)
        except HooklineError as problem:  # a fact that cannot be kept must not stop the work
            tx.append("run_log", task.id, {"message": f"not noted: {problem.message}"})
