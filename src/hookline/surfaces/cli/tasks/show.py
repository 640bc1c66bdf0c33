"""How tasks and events look in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import TURN
from hookline.domain.tasks import shown_state
from hookline.surfaces.cli.output import paint, say, say_row, untrusted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.events import Event
    from hookline.domain.tasks import Task
    from hookline.queries.blockers import TaskBlocker

STATE_STYLE = {
    "ready": "cyan",
    "submitted": "magenta",
    "completed": "green",
    **dict.fromkeys(("active", "needs_continuation"), "yellow"),
    **dict.fromkeys(("blocked", "failed"), "red"),
    **dict.fromkeys(("created", "cancelled"), "dim"),
}


# Where the goal begins, and what a row tells.
TASK_HANG, ROW_HANG = 20, 15
MAX_SAID = 2000


def task_line(task: Task) -> str:
    """A task on one line."""
    labels = " " + paint("[" + ", ".join(map(untrusted, task.labels)) + "]", "dim")
    waits = f"  after {', '.join(task.depends_on)}" if task.state == "created" else ""
    holder = f"  held by {untrusted(task.claim.agent)}" if task.claim else ""
    state = paint(f"{shown_state(task.state):9}", STATE_STYLE[task.state])
    return (
        f"{paint(f'{task.id:6}', 'bold')} {state} "
        f"P{task.priority} {untrusted(task.goal, 90)}{labels if task.labels else ''}"
        f"{paint(waits + holder, 'dim')}"
    )


def show_task(
    task: Task,
    dependents: Sequence[str],
    events: Sequence[Event],
    cost: Sequence[str],
    waits: TaskBlocker | None,
    review: Sequence[str],
) -> None:
    """Everything about one task; `cost` is the whole cost and a line for each role, `review` what
    the last reviewer asks for, and what the author said to it."""
    from hookline.domain.work.submissions import untested  # the line of a task does without

    say_row(task_line(task), TASK_HANG)
    rows = {
        "type": task.type,
        "deliverables": "; ".join(task.desired_deliverables),
        "parent": task.parent_task_id,
        "depends on": ", ".join(task.depends_on),
        "needed by": ", ".join(dependents),
        "claimed by": task.claim
        and f"{task.claim.agent} until {task.claim.lease_until}, token {task.claim.token}",
        "created": task.created_at,
        "started": task.started_at,
        "completed": task.completed_at,
        "result": task.result,
        "artifacts": "; ".join(task.artifacts),
        "reason": waits.reason if waits is not None else None,
        "to do": waits.command if waits is not None else None,
        "lacks": "; ".join(task.required_knowledge),
        "pull request": task.pr_url,
        "commits": task.commits_count,
        "turns": task.turns_used,
        "changes": task.changes,
        "merged untested": untested(events),
    }
    for name, value in rows.items():
        if value not in (None, "", ()):
            say_row(f"  {paint(f'{name:12}', 'dim')} {untrusted(str(value))}", ROW_HANG)
    for each in review:
        say_row(f"  {paint('review      ', 'dim')} {untrusted(each, MAX_SAID)}", ROW_HANG)
    for each in task.notes:
        say_row(f"  {paint('note         ', 'dim')}{untrusted(each)}", ROW_HANG)
    for number, line in enumerate(cost):
        say(f"  {paint('cost        ' if number == 0 else ' ' * 12, 'dim')} {line}")
    say()
    told = [event for event in events if event.type != TURN]  # the cost sums these up
    for event in told[-20:]:
        say(f"  {event_line(event)}")


def event_line(event: Event) -> str:
    """An event on one line."""
    data = untrusted(msgspec.json.encode(event.data).decode(), 100)
    who = untrusted(str(event.metadata.get("triggeredBy", "")))
    cause = f" ← {event.metadata['cause']}" if event.metadata.get("cause") else ""
    stamp = event.timestamp[11:19]
    return (
        f"{paint(f'{event.seq:>6}', 'bold')}  {paint(stamp, 'dim')}  "
        f"{paint(f'{untrusted(event.type):22}', 'cyan')} {untrusted(event.node_id):8} {data}"
        f"{paint(f'  {who}{cause}', 'dim')}"
    )
