"""What submitting and merging do to the store: each verb is part of a journaled transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import MERGED_UNTESTED
from hookline.domain.runs.model import INTERRUPTED, PARKED, TERMINAL, JournalEffect, Run
from hookline.domain.tasks import COMPLETED, OPEN, Task
from hookline.domain.text.excerpts import first_few
from hookline.domain.work.submissions import (
    AGENT,
    BUDGET,
    FORGE,
    LIMITS,
    MERGE,
    PEOPLE,
    SIGNAL,
    SUBMIT,
    TRUST,
    TURN,
    Submission,
)
from hookline.errors import HooklineError
from hookline.flows import journal
from hookline.pipeline.gated_work import PINS
from hookline.pipeline.gating import CODE_VERSION
from hookline.tasks import notes, verbs
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.ports.store import Transaction, View
    from hookline.sessions.requests import Ending

PLACE = "hookline.merge-place"


def start(tx: Transaction, flow: str, work: Submission, pins: dict[str, Any]) -> str:
    """The run that submits or merges a task's work; a new one unless there is one."""
    if (other := run_of(tx, work.task_id, flow)) is not None:
        return other.run_id
    given = msgspec.to_builtins(work)
    run_id = journal.start(tx, flow, given, {}, code_digest=CODE_VERSION, pins=pins)
    tx.append("submission_started", work.task_id, {"run": run_id, "flow": flow})
    return run_id


def submit_session(tx: Transaction, run: Run, task: Task, ended: Ending) -> None:
    """Submit the work that a session's agent says is done."""
    given = run.input
    work = Submission(
        task_id=task.id,
        worktree=given["worktree"],
        branch=given["branch"],
        base=given["base"],
        agent=given.get("agent"),
        task_type=task.type,
        conversation=ended.get("conversation"),
        turns=(task.turns_used or 0) + ended["turns"],
        skip_pr=bool(given.get("skipPr")),
    )
    start(tx, SUBMIT, work, {PINS: run.pins.get(PINS, {})})


def open_runs(view: View, *flows: str) -> list[Run]:
    """The open submissions, then the open merges, oldest first; or those of one flow."""
    found = [run for flow in flows or (SUBMIT, MERGE) for run in view.runs.of_flow(flow)]
    return [run for run in found if run.status not in TERMINAL]


def run_of(view: View, task_id: str, *flows: str) -> Run | None:
    """The open submission or merge of a task, of some flows or of both; None if there is none."""
    runs = runs_on(view, task_id, *(flows or (MERGE, SUBMIT)))
    return next((run for run in runs if run.status not in TERMINAL), None)


def is_interrupted(view: View, run: Run) -> bool:
    """Whether a run is only paused because the command that advanced it was interrupted."""
    if run.status != PARKED or run.wake_at is not None:
        return False
    parked = view.log.latest(run.run_id, ("run_parked",))
    return parked is not None and bool(parked.data.get(INTERRUPTED))


def wake(tx: Transaction, run_id: str) -> None:
    """Let a process that serves runs resume a paused one."""
    if is_interrupted(tx, tx.runs.find(run_id)):
        _, token, _ = tx.runs.leases.holder(run_id)
        tx.runs.leases.let_go(run_id, token, 0.0)


def wait_of(view: View, run: Run) -> JournalEffect | None:
    """The waits of a run for gates that are asked again after a while, not decided by a person."""
    waits = (each for each in view.runs.pending(run) if each.kind == "signal")
    found = (each for each in waits if each.args.get("name") in (SIGNAL, FORGE))
    return next((each for each in found if each.args.get("maxAge") is not None), None)


def ask_again(tx: Transaction, run_id: str) -> None:
    """Ask gates now that would be asked again after a while."""
    run = tx.runs.find(run_id)
    told = {name for _, name, _ in tx.runs.signals(run)}
    wait = wait_of(tx, run)
    if wait is not None and (name := wait.args["name"]) not in told:
        journal.write(tx, "run_signalled", run_id, {"name": name, "value": None})
    for name in (TRUST, PEOPLE, BUDGET, AGENT):
        if _waits_for(tx, run, name) and name not in told:
            journal.write(tx, "run_signalled", run_id, {"name": name, "value": None})


def allow(tx: Transaction, run_id: str, limits: Mapping[str, float]) -> None:
    """Let the task of a run cost more."""
    tx.runs.set_value(run_id, LIMITS, {**(tx.runs.value(run_id, LIMITS) or {}), **limits})


def waits_for_money(view: View, run: Run) -> bool:
    """Whether a run waits until someone pays for a turn."""
    return _waits_for(view, run, BUDGET)


def waits_for_agent(view: View, run: Run) -> bool:
    """Whether a run waits until someone has repaired an agent that cannot work."""
    return _waits_for(view, run, AGENT)


def _waits_for(view: View, run: Run, name: str) -> bool:
    pending = view.runs.pending(run)
    return any((each.kind, each.args.get("name")) == ("signal", name) for each in pending)


class GateRequest(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A verb and its arguments: facts, why work is sent back, or how it was merged."""

    verb: str
    wanted: str | None = None
    elsewhere: str | None = None
    commits: int | None = None
    turns: int | None = None
    pr_url: str | None = None
    reason: str = ""
    gate: str | None = None
    output: str | None = None
    attempts: list[Any] = []
    sha: str | None = None
    untested: str | None = None
    unjudged: bool = False
    beneath: list[str] = []
    conversation: str | None = None
    context: Any = None
    submitted: str | None = None


def perform(tx: Transaction, run: Run, args: Mapping[str, Any]) -> Any:
    """Carry out one verb; its result is journaled."""
    asked = typed.convert(args, GateRequest)
    return _VERBS[asked.verb](tx, run, asked) or {}


def _without_commits(tx: Transaction, run: Run, asked: GateRequest) -> dict[str, str]:
    """Complete a task that needs no commit, such as a review; send others back."""
    task = _task(tx, run)
    if task is None or task.state == COMPLETED:
        return {"outcome": "completed"}
    if asked.wanted == "complete" and not asked.elsewhere:
        verbs.complete(tx, task.id, result=task.result or "done without a commit")
        return {"outcome": "completed"}
    reason = asked.elsewhere or "there is no commit to submit"
    verbs.send_back(tx, task.id, reason=reason)
    return {"outcome": "sent_back", "reason": reason}


def _submitted(tx: Transaction, run: Run, asked: GateRequest) -> None:
    task = _task(tx, run)
    if task is not None and task.state in OPEN:
        _note_facts(tx, task, asked)
        if task.state != "submitted":
            verbs.submit(tx, task.id, result=task.result)


def _send_back(tx: Transaction, run: Run, asked: GateRequest) -> None:
    """Send the work back, to be continued."""
    _leave_queue(tx, run, asked)
    task = _task(tx, run)
    if task is not None and task.state in OPEN:
        _note_facts(tx, task, asked)
        found = {"gate": asked.gate, "output": asked.output, "attempts": asked.attempts}
        known = {name: value for name, value in found.items() if value}
        verbs.send_back(tx, task.id, reason=asked.reason[:4000], found=known)


def _merged(tx: Transaction, run: Run, asked: GateRequest) -> None:
    """Complete the task, only now: its dependents build on merged work."""
    task = _task(tx, run)
    if task is not None and task.state in OPEN:
        _note_facts(tx, task, asked)
        if asked.untested:
            more = {"unjudged": True} if asked.unjudged else {}
            data = {"sha": asked.sha, "reason": asked.untested, **more}
            tx.append(MERGED_UNTESTED, task.id, data)
        if asked.beneath:
            base = run.input["base"]
            notes.add(tx, "decision", unchecked_below(base, asked.beneath), task=task.id)
        verbs.complete(tx, task.id, result=task.result, artifacts=[str(asked.sha)])


def unchecked_below(base: str, commits: Sequence[str]) -> str:
    """What people are told about commits in the base that no gate has checked."""
    counted = f"{len(commits)} commit{'s' * (len(commits) > 1)}"
    said = f"the base {base} holds {counted} that no gate has checked: {first_few(commits, 3)}"
    return f"{said} (the branch was moved directly, not by a git in its checkout)"


def _start_merge(tx: Transaction, run: Run, asked: GateRequest) -> dict[str, str]:
    work = typed.convert(run.input, Submission)
    work = msgspec.structs.replace(work, conversation=asked.conversation, turns=asked.turns)
    pins = {name: value for name, value in run.pins.items() if name != "seq"}
    carried = {"context": asked.context, "submitted": asked.submitted}
    return {"runId": start(tx, MERGE, work, {**pins, **carried})}


# The queue of merges: one at a time, in the order of arrival.


def _queue(tx: Transaction, run: Run, asked: GateRequest) -> dict[str, str | bool]:
    if tx.runs.value(run.run_id, PLACE) is None:
        event = tx.append("merge_queued", run.run_id, {"taskId": run.input["taskId"]})
        tx.runs.set_value(run.run_id, PLACE, event.seq)
    first = _queued(tx)[0]
    return {"mine": first == run.run_id, "behind": first}


def _leave_queue(tx: Transaction, run: Run, asked: GateRequest) -> None:
    if tx.runs.value(run.run_id, PLACE) is not None:
        tx.runs.set_value(run.run_id, PLACE, None)
        for waiting in _queued(tx)[:1]:
            journal.write(tx, "run_signalled", waiting, {"name": TURN, "value": None})


def queued(view: View) -> list[tuple[str, int]]:
    """The runs in the queue, each with its position; the first may merge."""
    places = ((run.run_id, view.runs.value(run.run_id, PLACE)) for run in open_runs(view, MERGE))
    return sorted((each for each in places if each[1] is not None), key=lambda each: each[1])


def _queued(view: View) -> list[str]:
    return [run_id for run_id, _ in queued(view)]


_VERBS: dict[str, Callable[[Transaction, Run, GateRequest], Any]] = {
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


def _note_facts(tx: Transaction, task: Task, asked: GateRequest) -> None:
    facts = {"prUrl": asked.pr_url, "commitsCount": asked.commits, "turnsUsed": asked.turns}
    changes = {name: value for name, value in facts.items() if value is not None}
    if changes:
        try:
            with tx.nested():
                verbs.update(tx, task.id, changes)
        except HooklineError as problem:  # a fact that cannot be stored must not stop the work
            tx.append("run_log", task.id, {"message": f"not noted: {problem.message}"})
