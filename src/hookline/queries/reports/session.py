"""What a session's report contains besides its story: its figures, tasks and gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.timestamps import seconds
from hookline.hooks.gates.verdicts import OVERRIDDEN, Override, override_of
from hookline.pipeline.gate_reviews import GateReview, gate_reviews
from hookline.queries.pruned import pruned_at
from hookline.queries.reports.proofs import session_unproven
from hookline.queries.reports.story import chapters, iteration_change
from hookline.queries.session_details import EndedIteration, UsedLimit, countdown, endings, spent
from hookline.queries.sessions import SessionFacts, facts, last_ending
from hookline.sessions.spending import WholeCost, cost_of, turns_of
from hookline.tasks.notes import Note, note_of
from hookline.tasks.planned import tasks_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.domain.runs.model import Run
    from hookline.domain.sessions.model import HeldOutput
    from hookline.domain.tasks import Task
    from hookline.ports.store import Blobs, View
    from hookline.queries.reports.changes import Change
    from hookline.queries.reports.story import ToldChapter

# How many iterations are told in full, and how many in a line.
MOST_TOLD, MOST_LINES = 100, 1000
# Events of a session that is working, and those that suspend it.
WORKS = ("point_fired", "session_iteration", "session_iteration_ended", "session_resumed")
RESTS = ("session_ended", "session_paused", "session_waits")


class IterationLine(NamedTuple):
    """An iteration that is over, in a line."""

    began: str | None
    ended: EndedIteration


class SessionReport(NamedTuple):
    """A session as its report shows it; `seconds` is how long it was working.

    `proven` is whether its own checks passed. `story` is the newest iterations in full, and
    `overview` a line for each, of which `left_out` older ones are not listed. `pruned` is when
    a person had its details removed.
    """

    known: SessionFacts
    proven: bool
    why: str | None
    pruned: str | None
    overview: list[IterationLine]
    left_out: int
    story: list[ToldIteration]
    iterations: int
    seconds: float | None
    usd: float
    tokens: int
    limits: list[UsedLimit]
    tasks: list[Task]
    cost: WholeCost
    gates: list[GateReview]
    overridden: list[tuple[str, Override]]
    notes: list[Note]
    held: list[HeldOutput]


class ToldIteration(NamedTuple):
    """A chapter, and what to compare to see what it changed."""

    chapter: ToldChapter
    change: Change | None


def session_report(view: View, run: Run, blobs: Blobs) -> SessionReport:
    """Everything about a session and its task, from the store alone."""
    task_id, known, ended = run.input["taskId"], facts(view, run), last_ending(view, run.run_id)
    iterations = endings(view, run.run_id)
    usd, tokens = spent(iterations)
    own, below = view.graph.find(task_id), tasks_below(view, task_id)
    overridden = view.log.events(node_id=task_id, types=(OVERRIDDEN,))
    return SessionReport(
        known=known,
        proven=session_unproven(view, run) is None,
        why=known.reason or (ended.get("message") if ended else None),
        pruned=pruned_at(view, run.run_id),
        overview=_overview(view, run, iterations[-MOST_LINES:]),
        left_out=max(len(iterations) - MOST_LINES, 0),
        story=list(_story(view, run, blobs)),
        iterations=ended.get("iterations", known.iteration) if ended else known.iteration,
        seconds=_seconds_at_work(view, run),
        usd=usd,
        tokens=tokens,
        limits=countdown(view, run.run_id, iterations),
        tasks=[*([own] if own is not None else []), *below],
        cost=cost_of(turns_of(view, task_id)),
        gates=gate_reviews(view, task_id, blobs),
        overridden=[(event.timestamp, override_of(event)) for event in overridden],
        notes=_notes(view, run, {task_id, *(task.id for task in below)}),
        held=view.sessions.held(run.run_id),
    )


def _overview(view: View, run: Run, ended: Sequence[EndedIteration]) -> list[IterationLine]:
    begun = view.log.events(node_id=run.run_id, types=("session_iteration",))
    began = {event.data["iteration"]: event.timestamp for event in begun}
    return [IterationLine(began.get(each.iteration), each) for each in ended]


def _story(view: View, run: Run, blobs: Blobs) -> Iterator[ToldIteration]:
    """The newest chapters, each with what it changed since the one before."""
    first = max(run.chapter - MOST_TOLD, 0)
    before: str | None = None
    for number, chapter in enumerate(chapters(view, run, blobs, after=max(first - 1, 0))):
        if number or not first:  # the files of the one before are where the first one begins
            yield ToldIteration(chapter, iteration_change(chapter, before))
        before = chapter.tree or before or chapter.base


def _seconds_at_work(view: View, run: Run) -> float | None:
    """How long it was working, from its first step; pauses do not count."""
    spent, since, last = 0.0, None, None
    for event in view.log.events(node_id=run.run_id, types=(*WORKS, *RESTS)):
        last = seconds(event.timestamp)
        if event.type in RESTS:
            spent += last - since if since is not None else 0.0
            since = None
        elif since is None:
            since = last
    if last is None:
        return None
    return spent + (last - since if since is not None else 0.0)


def _notes(view: View, run: Run, tasks: set[str]) -> list[Note]:
    added = view.log.events(types=("note_added",))
    of_run = {event.seq for event in added if event.metadata.get("run") == run.run_id}
    return [note_of(event) for event in added if event.node_id in tasks or event.seq in of_run]
