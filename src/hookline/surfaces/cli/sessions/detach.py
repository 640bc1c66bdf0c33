"""Sessions that a process in the background advances."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from hookline.queries.sessions import facts
from hookline.surfaces.cli.background import tell_detached, warn_of_silence
from hookline.surfaces.cli.output import untrusted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from hookline.app import App


def detach(
    args: Namespace, app: App, run_id: str, limits: Mapping[str, float] | None = None
) -> int:
    """Have a process in the background advance a session, and tell how to follow it."""
    from hookline.operations.sessions.supervision import detach_session  # few sessions are detached

    warn_of_silence(app)
    made = detach_session(app, run_id, limits)
    with app.read() as view:
        known = facts(view, view.runs.find(run_id))
    name = untrusted(shlex.quote(known.name))
    ways = {
        "status": "hookline status",
        "watch": f"hookline attach {name}",
        "stop": f"hookline stop {name}",
    }
    told = {"runId": run_id, "name": known.name, "taskId": known.task_id}
    what = f"{untrusted(known.name)} ({run_id}, {known.task_id}) runs"
    tell_detached(args, made, what, ways, **told)
    return 0
