"""What a flow shows to hooks that react to events: its payload, as the data of an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import RUN_POINTS, Event
from hookline.flows import journal
from hookline.hooks.calls.settle import task_of

if TYPE_CHECKING:
    from hookline.domain.runs import JournalEffect, Run
    from hookline.ports.store import View


def as_event(view: View, run: Run, effect: JournalEffect) -> tuple[dict[str, Any], Event]:
    """What the hooks of the point receive, and the event in it; the log does not hold this one."""
    point, data = effect.args["point"], effect.args["payload"]
    task = task_of(view.graph, str(data.get("taskId")))
    event = Event(
        seq=effect.requested_seq,
        id=f"{run.run_id}/{run.chapter}/{effect.effect_id}",
        timestamp=effect.requested_at,
        type=point,
        node_id=task.id if task else run.run_id,
        data=data,
        metadata=journal.origin({}, run),
    )
    # Notices about runs are shown with their fields beside the event.
    notice = data if point in RUN_POINTS.values() else {}
    return dict(msgspec.to_builtins({**notice, "event": event, "task": task})), event
