"""The doctor's look at flows: runs that are due, and nobody there to advance them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookline.adapters.identity import owner_is_gone
from hookline.domain.moments import seconds
from hookline.domain.runs import RUNNING
from hookline.surfaces.cli.doctor_checks import many, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.store.sqlite import View
    from hookline.surfaces.cli.doctor_checks import Check

SHOWN = 3
# A process that serves flows takes a due run at once.
GRACE = 2.0


def flow_checks(view: View) -> Iterator[Check]:
    """Whether every run that has something to do has someone to do it."""
    now = time.time()
    due = [view.runs.find(each) for each in view.runs.due(now, _is_free)]
    left = [run for run in due if now - seconds(run.updated_at or "1970-01-01Z") > GRACE]
    if left:
        shown = ", ".join(run.run_id for run in left[:SHOWN])
        more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
        message = f"{many(len(left), 'run')} of flows wait and nothing serves them: {shown}{more}"
        yield warning("flows", message, "hookline work --flows")
    else:
        running = len(view.runs.runs(status=RUNNING, limit=-1))
        yield ok("flows", f"{many(running, 'run')} advancing, none left alone")


def _is_free(owner: str, until: float) -> bool:
    return until < time.time() or owner_is_gone(owner)
