"""The way of work to the base branch: lanes, gates as lights, the merge queue."""

from __future__ import annotations

from typing import Literal

from hookline.queries.page.shown import Shown
from hookline.queries.sessions import SessionFacts


class WorkerRow(Shown):
    """A process that takes tasks."""

    pid: int
    since: str
    command: str


class GateLight(Shown):
    """The last that a gate said about the work, as a light."""

    point: str
    gate: str
    light: Literal["passed", "failed", "waits", "asked", "skipped", "overridden", "not yet"]
    message: str
    at: str | None
    ms: float | None
    seq: int | None


class WorkRow(Shown):
    """A task's work on its way, with a light for each gate."""

    task_id: str
    goal: str
    state: str
    run_id: str | None
    flow: str | None
    outcome: str | None
    reason: str | None
    since: str | None
    until: str | None
    lights: list[GateLight]


class QueuedMerge(Shown):
    """A merge in the queue; the first one may merge. `seq` is its position."""

    place: int
    task_id: str
    run_id: str
    goal: str
    seq: int


class PipelinePage(Shown):
    """Who works on what, which gates said what, and what merges next."""

    seq: int
    workers: list[WorkerRow]
    lanes: list[SessionFacts]
    work: list[WorkRow]
    queue: list[QueuedMerge]
