"""What git still knows about the changes of recorded work: which files, and diffs if wanted.

Commits and trees come from the record. What git no longer has is told, never made up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.work.repository import RepositoryError
from hookline.errors import Untrusted
from hookline.wiring.project.clones import work_elsewhere
from hookline.wiring.working.repositories import repository

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.work.repository import Comparison
    from hookline.queries.reports.changes import Change
    from hookline.queries.reports.project import ProjectReport
    from hookline.queries.reports.session import SessionReport

# A diff that is longer is shown with both of its ends.
MAX_DIFF, MAX_ITERATION = 256 * 1024, 64 * 1024
GONE = "git no longer has what was recorded"
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?:~\d+)?")


async def with_changes(app: App, found: ProjectReport, *, diffs: bool = False) -> ProjectReport:
    """A report with what the work of its tasks changes, and the diffs themselves if wanted."""
    git, limit = _Git(app), MAX_DIFF if diffs else 0
    tasks = [
        msgspec.structs.replace(each, change=await git.compared(each.change, limit, each.task_id))
        for each in found.tasks
    ]
    return msgspec.structs.replace(found, tasks=tasks)


async def with_iteration_changes(app: App, found: SessionReport) -> SessionReport:
    """A session's report with the diffs of its iterations."""
    git, task_id = _Git(app), found.known.task_id
    story = [
        each._replace(change=await git.compared(each.change, MAX_ITERATION, task_id))
        for each in found.story
    ]
    return found._replace(story=story)


async def compared(app: App, change: Change | None, limit: int, task_id: str) -> Change | None:
    """One change with its files, and up to `limit` of its diff."""
    return await _Git(app).compared(change, limit, task_id)


class _Git:
    """The project's repository, asked about recorded commits and trees."""

    def __init__(self, app: App) -> None:
        self._history, self._clean = repository(app).history, app.cleaner.text
        self._elsewhere = work_elsewhere(app)

    async def compared(self, change: Change | None, limit: int, task_id: str) -> Change | None:
        """A change with its files, and up to `limit` of its diff; or with why it is not known.

        Work that another clone has is known here once it is pushed or merged.
        """
        if change is None or change.unknown is not None:
            return change
        try:
            found = await self._comparison(change, limit)
        except (RepositoryError, Untrusted):
            place = self._elsewhere.get(task_id)
            unknown = GONE if place is None else f"the work is in {place.holder}"
            return msgspec.structs.replace(change, unknown=unknown)
        return msgspec.structs.replace(change, files=found.files, diff=self._clean(found.diff))

    async def _comparison(self, change: Change, limit: int) -> Comparison:
        if change.fork:
            tree = None if change.tree is None else _known(change.tree)
            return await self._history.work(change.older, change.newer, limit, tree=tree)
        ends = _known(change.older), _known(change.newer)
        return await self._history.comparison(*ends, limit)


def _known(recorded: str) -> str:
    if not _OBJECT.fullmatch(recorded):  # the record may be someone else's
        raise RepositoryError("that is not a commit")
    return recorded
