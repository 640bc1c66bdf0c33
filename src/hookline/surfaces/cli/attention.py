"""`hookline attention`: what waits for a person, since when, and the command to type."""

from __future__ import annotations

import shlex
import sys
from textwrap import wrap
from typing import TYPE_CHECKING

import msgspec

from hookline.app import BROKEN
from hookline.domain import runs, sessions
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.tasks import (
    BLOCKED,
    COMPLETED,
    CREATED,
    NEEDS_CONTINUATION,
    READY,
    SUBMITTED,
)
from hookline.errors import NEEDS_PERSON
from hookline.flows.gate_verbs import open_runs, run_of, wait_of
from hookline.flows.outcomes import is_passed_over, is_stuck, last_parked, what_waits
from hookline.points import GATE, rule_of
from hookline.surfaces.cli.attention_gates import (
    AFTER_MERGE,
    asked_help,
    failed_after_merge,
    last_flow,
    last_pending,
    left_help,
    merged_unjudged,
    open_question,
)
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.gate_show import shown_hook
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import columns, is_terminal, paint, say, say_json, untrusted
from hookline.surfaces.cli.serving import EVERY_RUN, served_runs
from hookline.surfaces.cli.session_facts import (
    KILLED,
    PARKED,
    PLANNED,
    facts,
    is_held,
    resume_command,
)
from hookline.surfaces.cli.task_standing import untaken

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection, Iterable, Iterator

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.tasks import Task
    from hookline.hooks.verdicts import Verdict
    from hookline.surfaces.cli.session_facts import Facts
    from hookline.surfaces.cli.task_standing import Standing

EVERY = 1_000_000
COLUMNS = 100


class Item(msgspec.Struct, frozen=True):
    """One thing that waits for a person."""

    kind: str
    id: str
    since: str | None
    message: str
    command: str


def _attention(args: Namespace) -> int:
    with reading() as app, app.read() as view:
        live = list(_open_sessions(view))
        of_sessions = {run.run_id: facts(view, run) for run in live}
        left = [of_sessions[run.run_id] for run in live if not is_passed_over(view, run)]
        found = [
            *_held_back(app),
            *_sessions(left),
            *_failed_sessions(view, of_sessions.values()),
            *_runs(view, of_sessions),
            *_gates(view),
            *_pending_gates(app, view),
            *_after_merge(view),
            *_unjudged(view),
            *_submissions(app, view),
            *_tasks(app, view, left),
            *_untaken(app, view),
            *_failing(app, view),
            *_dead(view),
        ]
    if args.json:
        say_json(found)
    else:
        for item in found:
            _show(item)
        if not found:
            say("nothing waits for you")
    return NEEDS_PERSON if found else 0


def _show(item: Item) -> None:
    since = paint(f"  since {item.since}", "dim") if item.since else ""
    say(f"{paint(f'{item.kind:10}', 'yellow')} {paint(untrusted(item.id), 'bold')}{since}")
    for line in wrap(untrusted(item.message), _width(), break_on_hyphens=False):
        say(f"  {line}")
    say(f"  {paint('type:', 'dim')} {untrusted(item.command)}")


def _width() -> int:
    return max(20, (columns() if is_terminal(sys.stdout) else COLUMNS) - 2)


def _held_back(app: App) -> Iterator[Item]:
    if app.settings is not None and app.settings.has_errors and not app.suspended:
        yield Item("hooks", "hookline.yaml", None, BROKEN, "hookline check")
    for reason in sorted(set(app.suspended.values())):
        names = sorted(name for name, why in app.suspended.items() if why == reason)
        command = "hookline check" if reason == BROKEN else "hookline trust"
        yield Item("hooks", ", ".join(names), None, reason, command)


# Sessions

WHY = {
    sessions.ESCALATED: "it needs a person",
    sessions.LIMIT: "it reached a limit",
    sessions.FAILED: "its agent fails",
    KILLED: "its process is gone",
    PARKED: "it cannot go on",
}


def _open_sessions(view: View) -> Iterator[Run]:
    return (view.runs.find(run_id) for run_id in view.sessions.live())


def _sessions(found: Iterable[Facts]) -> Iterator[Item]:
    for known in found:
        if known.status in WHY or known.reason == PLANNED:
            why = [WHY.get(sessions.told_as(known.status, known.limit)), known.reason]
            message = f"{known.goal} ({': '.join(each for each in why if each)})"
            yield Item("session", known.name, known.since, message, resume_command(known))


def _failed_sessions(view: View, found: Iterable[Facts]) -> Iterator[Item]:
    """Sessions that broke, if their task is open and nobody has begun with it again."""
    told = {known.task_id for known in found}
    for run in view.runs.runs(status=runs.FAILED, limit=EVERY):
        task_id = run.input["taskId"] if run.flow == sessions.FLOW else None
        task = view.graph.find(task_id) if task_id and task_id not in told else None
        if task is not None and task.state in (CREATED, READY):
            told.add(task.id)
            message = f"{task.goal} (it failed: {run.error})"
            again = f"hookline run --task {task.id}"
            yield Item("session", run.input["name"], run.updated_at, message, again)


# Runs


def _runs(view: View, of_sessions: Collection[str]) -> Iterator[Item]:
    for status in (runs.PARKED, runs.RUNNING):
        for run in reversed(view.runs.runs(status=status, limit=EVERY)):
            if run.run_id in of_sessions:
                continue
            if is_stuck(view, run):
                yield _stuck(view, run)
            pending = view.runs.pending(run)
            why = f" ({run.reason})" if run.reason not in (None, what_waits(pending)) else ""
            yield from (_question(run, e, why) for e in pending if e.kind == "breakpoint")


def _stuck(view: View, run: Run) -> Item:
    event = last_parked(view, run)
    remedy = f"; {event.data['help']}" if event.data.get("help") else ""
    message = f"{run.flow}: {run.reason or 'parked'}{remedy}"
    command = _go_on(run) if run.flow in GATED else f"hookline flow resume {run.run_id}"
    return Item("run", run.run_id, event.timestamp, message, command)


def _question(run: Run, effect: JournalEffect, why: str) -> Item:
    name = shlex.quote(effect.effect_id)
    return Item(
        "breakpoint",
        f"{run.run_id} {effect.effect_id}",
        effect.requested_at,
        f"{run.flow} asks: {effect.args['question']}{why}",
        f"hookline answer {run.run_id} {name} yes (or: no)",
    )


# Gates


def _gates(view: View) -> Iterator[Item]:
    for run, asked in _waiting_gates(view):
        task = view.graph.find(run.input["taskId"])
        goal = task.goal if task is not None else run.run_id
        hint, command = asked_help(run, asked)
        yield Item("gate", run.input["taskId"], asked.started_at, f"{goal} ({hint})", command)


def _pending_gates(app: App, view: View) -> Iterator[Item]:
    """Gates that are asked again after a while: nobody has to act, but may want to know."""
    served = served_runs(app.project.folder)
    for run in (run for flow in GATED for run in open_runs(view, flow)):
        if _is_left(view, run) and served.isdisjoint((run.run_id, EVERY_RUN)):
            continue  # told as work that nobody takes through its gates
        pending = last_pending(view, run) if wait_of(view, run) is not None else None
        task = view.graph.find(run.input["taskId"])
        if pending is not None and task is not None:
            hook = shown_hook(pending.hook or "a gate")
            message = f"{task.goal} ({hook} at {pending.point} waits: {pending.message})"
            yield Item("gate", task.id, pending.started_at, message, _go_on(run))


def _after_merge(view: View) -> Iterator[Item]:
    for task_id, failed in failed_after_merge(view):
        task = view.graph.find(task_id)
        hook = shown_hook(failed.hook or "a hook")
        message = f"{task.goal if task else task_id} (merged, but {hook} failed: {failed.message})"
        yield Item(AFTER_MERGE, task_id, failed.started_at, message, f"hookline why {failed.seq}")


def _unjudged(view: View) -> Iterator[Item]:
    for run in merged_unjudged(view):
        task_id, sha = run.input["taskId"], run.value["sha"]
        task = view.graph.find(task_id)
        message = f"{task.goal if task else task_id} (merged untested: {run.value['untested']})"
        yield Item("merged", task_id, run.updated_at, message, f"git diff {sha}^ {sha}")


# Submitted work that nobody takes through its gates

GATED = (SUBMIT, MERGE)
WAITS = {SUBMIT: "its gates wait", MERGE: "its merge waits"}


def _submissions(app: App, view: View) -> Iterator[Item]:
    asked = {run.run_id for run, _ in _waiting_gates(view)}
    served = served_runs(app.project.folder)
    on_their_way = set()
    for run in (run for flow in GATED for run in open_runs(view, flow)):
        on_their_way.add(run.input["taskId"])
        task = view.graph.find(run.input["taskId"])
        is_watched = not served.isdisjoint((run.run_id, EVERY_RUN))
        if task is not None and run.run_id not in asked and _is_left(view, run) and not is_watched:
            pending = last_pending(view, run) if wait_of(view, run) is not None else None
            yield _left(task, run.flow, run.updated_at, pending.message if pending else "")
    for task in view.graph.tasks(states=(SUBMITTED,)):
        if task.id not in on_their_way:
            yield _left(task, last_flow(view, task), _since(view, task))


def _is_left(view: View, run: Run) -> bool:
    """Whether a run could go on, and no process advances it."""
    holder, _, until = view.runs.holder(run.run_id)
    return not (is_held(holder, until) or run.status == runs.PAUSED or run.wake_at is None)


def _left(task: Task, flow: str, since: str | None, pending: str = "") -> Item:
    waits = "it is merged, and what comes after that waits"
    waits = waits if task.state == COMPLETED else WAITS[flow]
    why = f"; {pending}" if pending else ""
    message = f"{task.goal} ({waits}: nothing is at work on it{why})"
    return Item("gates", task.id, since, message, f"hookline {flow} {task.id}")


def _go_on(run: Run) -> str:
    return f"hookline {run.flow} {run.input['taskId']}"


# Tasks and calls


def _tasks(app: App, view: View, found: Iterable[Facts]) -> Iterator[Item]:
    ways_on = (sessions.ESCALATED, sessions.LIMIT)
    told = {known.task_id for known in found if known.status in ways_on}
    for task in view.graph.tasks(states=(BLOCKED, NEEDS_CONTINUATION)):
        if task.id in told or run_of(view, task.id) is not None:
            continue  # told by its session or its gates, which also know the way on
        why = f": {task.block_reason}" if task.block_reason else ""
        hint, command = left_help(app, view, task)
        message = f"{task.goal} ({task.state}{why})" + (f"; {hint}" if hint else "")
        yield Item("task", task.id, _since(view, task), message, command)


def _untaken(app: App, view: View) -> Iterator[Item]:
    """Tasks that could begin, if one of those who may take them were there."""
    reasons: dict[str | None, Standing | None] = {}
    for task in view.graph.tasks(states=(READY,)):
        if task.type not in reasons:
            reasons[task.type] = untaken(app, task.type)
        found = reasons[task.type]
        if found is not None and task.claim is None:
            message = f"{task.goal} ({found.reason})"
            yield Item("task", task.id, _since(view, task), message, found.command)


def _waiting_gates(view: View) -> Iterator[tuple[Run, Verdict]]:
    """Every run that waits for a person's decision, with what it asks."""
    for flow in (SUBMIT, MERGE):
        for run in open_runs(view, flow):
            asked = open_question(view, run)
            if asked is not None:
                yield run, asked


def _since(view: View, task: Task) -> str | None:
    events = view.log.events(node_id=task.id, types=(f"task_{task.state}",))
    return events[-1].timestamp if events else None


def _failing(app: App, view: View) -> Iterator[Item]:
    switches = view.calls.switches()
    for row in app.standing.failing(view.calls):
        # The entry of the task says that its gate failed.
        if switches.get(row.hook, True) and rule_of(row.point) != GATE:
            message = f"it failed at event {row.event_seq} ({row.point}): {row.error}"
            yield _call("hook", view, row, message)


def _dead(view: View) -> Iterator[Item]:
    for row in view.calls.dead():
        message = f"at event {row.event_seq} ({row.point}): {row.error or 'given up'}"
        yield _call("dead call", view, row, message)


def _call(kind: str, view: View, row: Delivery, message: str) -> Item:
    event = view.log.find(row.event_seq)
    since = row.started_at or (event.timestamp if event else None)  # some were never started
    return Item(kind, row.hook, since, message, f"hookline why {row.event_seq}")


COMMANDS = {"attention": Command("what waits for a person", no_arguments, _attention)}
