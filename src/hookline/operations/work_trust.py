"""Trusting what a task's work changes of trusted files, before it is merged."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.work.submissions import TRUST
from hookline.errors import IllegalTransition
from hookline.flows import control
from hookline.hooks.gates.verdicts import asked_person
from hookline.pipeline import gate_verbs
from hookline.pipeline.repository.merge_trust import project_at
from hookline.project import user_folder
from hookline.trust.book import TaskGrant, TrustBook
from hookline.trust.manifest import Manifest
from hookline.trust.review import review
from hookline.wiring.project.trusting import merge_trust
from hookline.wiring.working.repositories import repository

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline.app import App
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.ports.store import Transaction
    from hookline.trust.merging import Incoming


class WorkInReview(NamedTuple):
    """What a merge waits for: the changes of a task's work to trusted files."""

    app: App
    task_id: str
    run_id: str
    found: Incoming

    def diff(self) -> str:
        """The changes as text."""
        entries = Manifest("", self.found.entries)
        return review(self._book, self.app.project, entries, self.found.changes)

    def grant(self) -> None:
        """Trust exactly these changes, and let the merge continue."""
        grant = TaskGrant(self.task_id, self.found.changes)
        self._book.grant_task(self.app.project, grant, self.found.entries)
        self.app.change(_go_on, self.run_id, self.task_id, self.found.changes)

    @property
    def _book(self) -> TrustBook:
        return TrustBook(user_folder(self.app.environ))


@asynccontextmanager
async def work_in_review(app: App, identifier: str) -> AsyncIterator[WorkInReview]:
    """The work of a task that waits for trust, checked out for as long as it is looked at."""
    task_id, asked = _waiting(app, identifier)
    git, compare = repository(app), merge_trust(app)
    if compare is None:
        raise IllegalTransition("you always trust this folder", help=f"`hookline merge {task_id}`")
    assert asked.run is not None  # it was asked by one
    base, sha = asked.context["base"], asked.context["sha"]
    names = await git.history.changed_between(base, sha)
    async with project_at(git, app.project.root, sha, base) as folder:
        yield WorkInReview(app, task_id, asked.run, compare.incoming(folder, names))


def _waiting(app: App, identifier: str) -> tuple[str, GateVerdict]:
    with app.read() as view:
        task = view.graph.task(identifier)
        run = gate_verbs.run_of(view, task.id)
        asked = asked_person(view, run) if run is not None else None
    if asked is None or asked.hook != TRUST:
        help = f"`hookline merge {task.id}` shows whether its work needs it"
        raise IllegalTransition(f"{task.id} is not waiting for trust", help=help)
    return task.id, asked


def _go_on(tx: Transaction, run_id: str, task_id: str, changes: dict[str, str]) -> None:
    control.send(tx, run_id, TRUST, {"files": sorted(changes)})
    tx.append("work_trusted", task_id, {"run": run_id, "files": sorted(changes)})
