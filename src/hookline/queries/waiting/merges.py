"""Submitted and merged work that waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.names import shown_hook
from hookline.domain.runs import model as runs
from hookline.domain.tasks import COMPLETED, SUBMITTED
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.hooks.gates.reports import BENEATH, LEAKED
from hookline.pipeline.gate_verbs import open_runs, unchecked_below, wait_of
from hookline.queries.waiting import gates
from hookline.queries.waiting.item import Item, goal_of, sentence, since_state
from hookline.wiring.running.hosts import EVERY_RUN, advancing, served_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.ports.store import View

GATED = (SUBMIT, MERGE)
WAITS = {SUBMIT: "its gates wait", MERGE: "its merge waits"}


def asked_gates(view: View) -> Iterator[Item]:
    """Gates that a person decides."""
    for run, asked in _questions(view):
        hint, command = gates.asked_help(run, asked)
        key = f"gate {run.run_id} {asked.seq}"
        yield _of_task(view, "gate", run, asked.started_at, hint, command, key)


def pending_gates(app: App, view: View) -> Iterator[Item]:
    """Gates that are asked again after a while: no action is needed, but worth knowing."""
    served = served_runs(app.project.folder)
    for run in open_runs(view):
        if _is_left(view, run) and served.isdisjoint((run.run_id, EVERY_RUN)):
            continue  # reported as work that no process takes through its gates
        pending = gates.last_pending(view, run) if wait_of(view, run) is not None else None
        if pending is not None and goal_of(view, run.input["taskId"]) is not None:
            hook = shown_hook(pending.hook or "a gate")
            why = f"the gate {hook} at {pending.point} waits: {pending.message}"
            key = f"pending {run.run_id} {hook}"  # it is asked again and again
            yield _of_task(
                view, "gate", run, pending.started_at, why, command_to_continue(run), key
            )


def merged_work(view: View) -> Iterator[Item]:
    """Merged work that someone should look at."""
    for task_id, failed in gates.failed_after_merge(view):
        hook = shown_hook(failed.hook or "a hook")
        yield Item(
            gates.AFTER_MERGE,
            task_id,
            failed.started_at,
            sentence(f"it is merged, but {hook} failed: {failed.message}"),
            _seen(f"hookline why {failed.seq}", task_id),
            f"after merge {task_id} {failed.seq}",
            node=task_id,
            goal=goal_of(view, task_id),
        )
    for run in gates.merged_unchecked(view):
        look, why = run.value["sha"], f"merged untested: {run.value['untested']}"
        yield _merged(view, run, f"it was {why}", f"git diff {look}^ {look}", "untested")
    for run in gates.merged_with(view, LEAKED):
        where = "; ".join(str(each) for each in run.value[LEAKED])
        why = f"credentials were pushed before they were taken out, revoke them: {where}"
        yield _merged(view, run, why, f"hookline task show {run.input['taskId']}", "leaked")
    for run in gates.merged_with(view, BENEATH):
        commits = run.value[BENEATH]
        shown = " ".join(each.partition(" ")[0] for each in commits[:3])
        why = unchecked_below(run.input["base"], commits)
        yield _merged(view, run, why, f"git show {shown}", "beneath")


def _merged(view: View, run: Run, why: str, look: str, what: str) -> Item:
    key = f"merged {run.run_id} {what}"
    command = _seen(look, run.input["taskId"])
    return _of_task(view, "merged", run, run.updated_at, why, command, key)


def _of_task(
    view: View, kind: str, run: Run, since: str | None, why: str, command: str, key: str
) -> Item:
    task_id = str(run.input["taskId"])
    goal = goal_of(view, task_id)
    return Item(kind, task_id, since, sentence(why), command, key, node=task_id, goal=goal)


def _seen(look: str, task_id: str) -> str:
    """The command that shows a merge, and the one to type once it is dealt with."""
    return f"{look} (then: hookline gate approve {task_id})"


# Submitted work that no process takes through its gates


def left_submissions(app: App, view: View) -> Iterator[Item]:
    """Submitted work that waits for a process."""
    asked = {run.run_id for run, _ in _questions(view)}
    served = served_runs(app.project.folder)
    on_their_way = set()
    for run in open_runs(view):
        on_their_way.add(run.input["taskId"])
        task = view.graph.find(run.input["taskId"])
        is_watched = not served.isdisjoint((run.run_id, EVERY_RUN))
        if task is not None and run.run_id not in asked and _is_left(view, run) and not is_watched:
            pending = gates.last_pending(view, run) if wait_of(view, run) is not None else None
            yield _left(task, run.flow, run.updated_at, pending.message if pending else "")
    for task in view.graph.tasks(states=(SUBMITTED,)):
        if task.id not in on_their_way:
            yield _left(task, gates.last_flow(view, task), since_state(view, task))


def _is_left(view: View, run: Run) -> bool:
    """Whether a run could continue, and no process advances it."""
    may_go_on = run.status != runs.PAUSED and run.wake_at is not None
    return may_go_on and advancing(view, run.run_id) is None


def _left(task: Task, flow: str, since: str | None, pending: str = "") -> Item:
    waits = "it is merged, but what follows the merge waits"
    waits = waits if task.state == COMPLETED else WAITS[flow]
    why = f"; {pending}" if pending else ""
    message = sentence(f"{waits}: no process works on it{why}")
    command, key = f"hookline {flow} {task.id}", f"gates {task.id} {flow}"
    return Item("gates", task.id, since, message, command, key, node=task.id, goal=task.goal)


def command_to_continue(run: Run) -> str:
    """The command that continues a submission or a merge."""
    return f"hookline {run.flow} {run.input['taskId']}"


def _questions(view: View) -> Iterator[tuple[Run, GateVerdict]]:
    """Every run that waits for a person's decision, with what it asks."""
    for run in open_runs(view):
        if (asked := gates.open_question(view, run)) is not None:
            yield run, asked
