"""What a session's report tells: its story, and the tasks, costs, gates and notes around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.gates.verdicts import OVERRIDDEN, Override, override_of
from hookline.pipeline.gate_reviews import GateReview, gate_reviews
from hookline.queries.reports.story import chapters, iteration_change
from hookline.queries.sessions import SessionFacts, facts, last_ending
from hookline.sessions.spending import WholeCost, cost_of, turns_of
from hookline.tasks.notes import Note, note_of
from hookline.tasks.planned import tasks_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import Blobs, View
    from hookline.queries.reports.changes import Change
    from hookline.queries.reports.story import ToldChapter

# How many iterations are told in full.
MOST_TOLD = 100


class SessionReport(NamedTuple):
    """What a session's report tells besides what the page shows of a session.

    `story` is the newest iterations in full.
    """

    known: SessionFacts
    why: str | None
    story: list[ToldIteration]
    iterations: int
    tasks: list[Task]
    cost: WholeCost
    gates: list[GateReview]
    overridden: list[tuple[str, Override]]
    notes: list[Note]


class ToldIteration(NamedTuple):
    """A chapter, and what to compare to see what it changed."""

    chapter: ToldChapter
    change: Change | None


def session_report(view: View, run: Run, blobs: Blobs) -> SessionReport:
    """A session's story and its task, from the store alone."""
    task_id, known, ended = run.input["taskId"], facts(view, run), last_ending(view, run.run_id)
    own, below = view.graph.find(task_id), tasks_below(view, task_id)
    overridden = view.log.events(node_id=task_id, types=(OVERRIDDEN,))
    return SessionReport(
        known=known,
        why=known.reason or (ended.get("message") if ended else None),
        story=list(_story(view, run, blobs)),
        iterations=ended.get("iterations", known.iteration) if ended else known.iteration,
        tasks=[*([own] if own is not None else []), *below],
        cost=cost_of(turns_of(view, task_id)),
        gates=gate_reviews(view, task_id, blobs),
        overridden=[(event.timestamp, override_of(event)) for event in overridden],
        notes=_notes(view, run, {task_id, *(task.id for task in below)}),
    )


def _story(view: View, run: Run, blobs: Blobs) -> Iterator[ToldIteration]:
    """The newest chapters, each with what it changed since the one before."""
    first = max(run.chapter - MOST_TOLD, 0)
    before: str | None = None
    for number, chapter in enumerate(chapters(view, run, blobs, after=max(first - 1, 0))):
        if number or not first:  # the files of the one before are where the first one begins
            yield ToldIteration(chapter, iteration_change(chapter, before))
        before = chapter.tree or before or chapter.base


def _notes(view: View, run: Run, tasks: set[str]) -> list[Note]:
    added = view.log.events(types=("note_added",))
    of_run = {event.seq for event in added if event.metadata.get("run") == run.run_id}
    return [note_of(event) for event in added if event.node_id in tasks or event.seq in of_run]
