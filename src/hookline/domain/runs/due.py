"""Whether a run has something to do now, by its row alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs.model import PAUSED, TERMINAL
from hookline.domain.timestamps import seconds

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run

# Smaller corrections of a clock are normal.
SET_BACK = 60.0


def was_parked_later(run: Run, now: float) -> bool:
    """Whether the clock was set back since a run was parked: then its wake time is wrong."""
    return run.updated_at is not None and seconds(run.updated_at) > now + SET_BACK


def has_woken(run: Run, now: float) -> bool:
    """Whether the moment has come that a run waits for."""
    return run.wake_at is not None and (run.wake_at <= now or was_parked_later(run, now))


def is_due(run: Run, now: float) -> bool:
    """Whether a run has something to do, if nobody does it already."""
    return run.status not in TERMINAL and run.status != PAUSED and has_woken(run, now)
