"""What a report in one file shows: answers of the API, and what else its reader cannot ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.names import short_name
from hookline.domain.tasks import Task
from hookline.queries.page.changes import DiffPage, diff_page
from hookline.queries.page.iteration import IterationPage, ToolUse, told_steps, tools_used
from hookline.queries.page.sessions import SessionPage, session_page
from hookline.queries.page.shown import Shown
from hookline.queries.page.tasks import GateRow, gate_row
from hookline.queries.reports.project import ProjectReport, ReportedSession, ReportedTask
from hookline.queries.reports.story import receipts
from hookline.queries.waiting.item import Item
from hookline.sessions.spending import WholeCost
from hookline.tasks.notes import Note
from hookline.version import __version__

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import View
    from hookline.queries.reports.session import SessionReport, ToldIteration


# How many iterations are told in a line.
MOST_LINES = 1000


class ToldWhole(Shown):
    """An iteration with everything in it; `since` is from where its changes are counted."""

    page: IterationPage
    change: DiffPage | None
    since: str | None


class OverriddenGate(Shown):
    """A person's decision that a gate does not apply."""

    at: str
    point: str
    gate: str
    by: str
    reason: str


class SessionStory(Shown):
    """A session with its newest iterations in full.

    `left_out` older iterations are not even listed. `proof` is the last one that a stop hook kept.
    """

    page: SessionPage
    why: str | None
    iterations: int
    left_out: int
    story: list[ToldWhole]
    proof: Mapping[str, Any] | None
    tasks: list[Task]
    cost: WholeCost
    gates: list[GateRow]
    overridden: list[OverriddenGate]
    notes: list[Note]


class TaskStory(Shown):
    """What happened to a task, and what its work changes."""

    task: ReportedTask
    change: DiffPage | None


class ProjectStory(Shown):
    """What happened in a project from one moment to another."""

    since: str
    until: str
    headline: str
    tasks: list[TaskStory]
    left_out: int
    sessions: list[ReportedSession]
    cost: WholeCost
    waiting: list[Item]


class ReportFile(Shown):
    """All that is in the file: either a session, or the work of a project or a task."""

    title: str
    made: str
    version: str
    session: SessionStory | None = None
    work: ProjectStory | None = None


def work_file(found: ProjectReport, headline: str) -> ReportFile:
    """The report of a project, or of one of its tasks."""
    work = ProjectStory(
        since=found.since,
        until=found.until,
        headline=headline,
        tasks=[_task(each) for each in found.tasks],
        left_out=found.left_out,
        sessions=found.sessions,
        cost=found.cost,
        waiting=found.waiting,
    )
    return ReportFile(title=found.project, made=found.until, version=__version__, work=work)


def _task(task: ReportedTask) -> TaskStory:
    change = diff_page(task.change) if task.change is not None else None
    return TaskStory(task=msgspec.structs.replace(task, change=None), change=change)


def session_file(app: App, found: SessionReport) -> ReportFile:
    """The report of a session."""
    known, used = found.known, tools_used(app, found.known.run_id)
    page = session_page(app, known.run_id)
    first = page.iterations[-1].chapter - len(found.story) + 1 if page.iterations else 1
    proofs = [receipt for each in found.story for receipt in receipts(each.chapter)]
    with app.read() as view:
        story = SessionStory(
            page=msgspec.structs.replace(
                page, ways=[], previous=None, next=None, iterations=page.iterations[-MOST_LINES:]
            ),
            why=found.why,
            iterations=found.iterations,
            left_out=max(len(page.iterations) - MOST_LINES, 0),
            story=[
                _iteration(view, number, each, found, used)
                for number, each in enumerate(found.story, first)
            ],
            proof=proofs[-1] if proofs else None,
            tasks=found.tasks,
            cost=found.cost,
            gates=[gate_row(each) for each in found.gates],
            overridden=[
                OverriddenGate(
                    at=at, point=o.point, gate=short_name(o.hook), by=o.by, reason=o.reason
                )
                for at, o in found.overridden
            ],
            notes=found.notes,
        )
    made = app.store.now()
    return ReportFile(title=known.name, made=made, version=__version__, session=story)


def _iteration(
    view: View, number: int, told: ToldIteration, found: SessionReport, used: list[ToolUse]
) -> ToldWhole:
    chapter = told.chapter
    # In a worktree the first files that were kept are those that its branch began with.
    since = "since its branch began" if chapter.base and found.known.branch else None
    page = IterationPage(
        run_id=found.known.run_id,
        chapter=number,
        iteration=chapter.iteration,
        began=chapter.began,
        ended=chapter.ended,
        steps=told_steps(view, chapter, used, None),
        previous=None,
        next=None,
        diff=None,
    )
    change = diff_page(told.change) if told.change is not None else None
    return ToldWhole(page=page, change=change, since=since if chapter.tree else "committed")
