"""After a server has lost what it had acknowledged: what git and the forge know is put back.

What is on the base was merged, whoever forgot it; work on a task's branch is not thrown away; and
a number that was given to a task is not given to another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import RECONCILED, SYSTEM_NODE
from hookline.domain.pages.taskpage import task_in
from hookline.domain.runs.model import TERMINAL
from hookline.domain.tasks import (
    ACTIVE,
    COMPLETED,
    NEEDS_CONTINUATION,
    READY,
    SUBMITTED,
    is_task_id,
    shown_state,
    task_number,
)
from hookline.domain.timestamps import seconds
from hookline.domain.work.forge import ForgeError
from hookline.domain.work.repository import RepositoryError, branch_of
from hookline.errors import BadInput
from hookline.flows import control
from hookline.immutable import Immutable
from hookline.tasks import verbs
from hookline.tasks.task_runs import runs_on
from hookline.tasks.work_record import note_start
from hookline.wiring.calling.calls import owner_of
from hookline.wiring.project.servers import repaired
from hookline.wiring.project.stores import is_here
from hookline.wiring.working.forges import forge
from hookline.wiring.working.repositories import repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.domain.work.repository import CommitMessage, Worktree
    from hookline.ports.store import Transaction, View

MOST_COMMITS = 20_000
# A store loses what it acknowledged in its last moments; agents can name any number in a commit.
MOST_LOST = 10_000
MERGED, REUSED, WORK = "merged", "reused-number", "branch"
PULL, LOST, STRANGE = "pull-request", "lost-task", "strange-number"
_COMPLETABLE = frozenset({READY, ACTIVE, SUBMITTED, NEEDS_CONTINUATION})
_WHY = "the store had forgotten it: `hookline store reconcile`"


class Difference(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What git or the forge know and the store does not; `does` is what is done about it.

    `goal` is what a task was about of which the store knows nothing.
    """

    kind: str
    task_id: str
    found: str
    does: str
    ref: str
    goal: str | None = None


class Reconciled(msgspec.Struct, frozen=True, rename="camel"):
    """What was found, and whether it was put back."""

    differences: list[Difference]
    dry_run: bool
    problems: list[str]


class _Branch(Immutable):
    """A task's branch: its newest commit, how many the base has not, and where it left the base."""

    newest: CommitMessage
    ahead: int
    place: Worktree
    start: str


class _Outside(Immutable):
    """What git and the forge know, by task: merges, branches, pull requests."""

    merges: dict[str, CommitMessage]
    branches: dict[str, _Branch]
    pulls: dict[str, str]
    problems: list[str]


async def reconcile(app: App, *, dry_run: bool) -> Reconciled:
    """Compare the store with git and the forge, and put back what is right."""
    if is_here(app.store):
        raise BadInput(
            "the store is in .hookline/, which forgets nothing that it has acknowledged",
            help="`hookline doctor` compares it with its log",
        )
    with repaired(app.store) as end:
        outside = await _look_outside(app)
        if dry_run:
            with app.read() as view:
                return Reconciled(list(_differences(view, outside)), True, outside.problems)
        return Reconciled(app.change(_put_back, app, outside, end), False, outside.problems)


async def _look_outside(app: App) -> _Outside:
    git, problems = repository(app), list[str]()
    base = await git.bases.branch()
    merges = _by_task(await git.history.newest(await git.bases.head(base), MOST_COMMITS))
    branches: dict[str, _Branch] = {}
    for each in await git.worktrees.list():
        if is_task_id(each.task) and each.head:
            (newest,) = await git.history.newest(each.head, 1)
            ahead = await git.history.commits_ahead(git.root, base, each.head)
            try:
                start = await git.history.merge_base(git.root, base, each.head)
            except RepositoryError as problem:
                problems.append(f"{each.branch} is left out: {problem.message}")
                continue
            branches[each.task] = _Branch(newest, ahead, each, start)
    with app.read() as view:
        tasks = branches.keys() | {task.id for task in view.graph.tasks()}
    pulls, asked = {}, forge(app)
    try:
        for task in sorted(tasks, key=task_number):
            if (pull := await asked.find_pull_request(branch_of(task), base)) is not None:
                pulls[task] = pull.url
    except ForgeError as problem:
        problems.append(f"the forge was not asked about all tasks: {problem.message}")
    return _Outside(merges=merges, branches=branches, pulls=pulls, problems=problems)


def _by_task(commits: list[CommitMessage]) -> dict[str, CommitMessage]:
    """The newest commit of each task."""
    found: dict[str, CommitMessage] = {}
    for each in commits:
        task = task_in(each.message)
        if task is not None and is_task_id(task):
            found.setdefault(task, each)
    return found


def _last_task(view: View) -> int:
    """The last number that was given to a task; also one that was deleted had one."""
    created = view.log.stream(types=("task_created",))
    return max((task_number(event.node_id) for event in created), default=0)


def _differences(view: View, outside: _Outside) -> Iterator[Difference]:
    """Where the store knows less, task by task."""
    known, last = {*outside.merges, *outside.branches, *outside.pulls}, _last_task(view)
    for name in sorted(known, key=task_number):
        task = view.graph.find(name)
        if task is not None:
            found = _of_task(task, outside)
        else:
            found = _of_lost(name, outside, last) if task_number(name) > last else None
        if found is not None:
            yield found


def _of_task(task: Task, outside: _Outside) -> Difference | None:
    """What is to be said of a task that the store knows."""
    name = task.id
    merge, branch = outside.merges.get(name), outside.branches.get(name)
    if merge is not None and merge.at < seconds(task.created_at or "") - 1:
        if task.state == COMPLETED:
            return None
        found = f"{merge.sha[:12]} on the base was the work of an earlier task of that number"
        does = "left as it is: look at both"
        return Difference(kind=REUSED, task_id=name, found=found, does=does, ref=merge.sha)
    if merge is not None and task.state != COMPLETED:
        found = (
            f"{merge.sha[:12]} on the base is its work, and the task is {shown_state(task.state)}"
        )
        does = "completed" if task.state in _COMPLETABLE else "left as it is: look at it"
        return Difference(kind=MERGED, task_id=name, found=found, does=does, ref=merge.sha)
    if (url := outside.pulls.get(name)) is not None and url != task.pr_url:
        found = f"{url} is open, and the task does not know it"
        return Difference(kind=PULL, task_id=name, found=found, does="noted", ref=url)
    if branch is not None and branch.ahead and task.state == READY and not task.started_at:
        found = f"{branch_of(name)} is {branch.ahead} ahead, and nobody has begun the task"
        does = "kept: who takes the task continues from there"
        return Difference(kind=WORK, task_id=name, found=found, does=does, ref=branch.newest.sha)
    return None


def _of_lost(name: str, outside: _Outside, last: int) -> Difference | None:
    """What is to be said of a task that the store has forgotten, if it can have known it."""
    merge, branch = outside.merges.get(name), outside.branches.get(name)
    if merge is not None:
        found = f"{merge.sha[:12]} on the base is its work, and there is no such task"
        made, does = merge, "added and completed"
    elif branch is not None and branch.ahead:
        found = f"{branch_of(name)} is {branch.ahead} ahead, and there is no such task"
        made, does = branch.newest, "added, and blocked until a person has looked"
    else:
        return None
    if task_number(name) > last + MOST_LOST:
        does = "left as it is: so many tasks were not forgotten, look at it"
        return Difference(kind=STRANGE, task_id=name, found=found, does=does, ref=made.sha)
    return Difference(
        kind=LOST, task_id=name, found=found, does=does, ref=made.sha, goal=made.subject
    )


# Putting it back


def _put_back(
    tx: Transaction, app: App, outside: _Outside, end: Callable[[], None]
) -> list[Difference]:
    found, last = list(_differences(tx, outside)), _last_task(tx)
    for each in found:
        if each.kind == LOST:
            while last < task_number(each.task_id) - 1:  # nobody gets a number that was given
                last = task_number(tx.next_task_id())
            last = task_number(verbs.add(tx, each.goal or each.task_id).id)
            if (url := outside.pulls.get(each.task_id)) is not None:
                verbs.update(tx, each.task_id, {"prUrl": url})
        if each.kind in (LOST, WORK) and (branch := outside.branches.get(each.task_id)) is not None:
            note_start(tx, branch.place, branch.start)  # else its commits may be anyone's
        if each.kind == PULL:
            verbs.update(tx, each.task_id, {"prUrl": each.ref})
        elif each.kind in (LOST, MERGED) and each.task_id in outside.merges:
            _complete(tx, app, each)
        elif each.kind == LOST:
            verbs.block(tx, each.task_id, reason=f"{each.found}; {_WHY}")
    tx.append(RECONCILED, SYSTEM_NODE, {"differences": msgspec.to_builtins(found)})
    end()
    return found


def _complete(tx: Transaction, app: App, merged: Difference) -> None:
    for run in list(runs_on(tx, merged.task_id)):
        if run.status not in TERMINAL:
            control.control(tx, owner_of(app), run.run_id, "cancel", _WHY)
    if tx.graph.task(merged.task_id).state in _COMPLETABLE:
        verbs.complete(tx, merged.task_id, result=_WHY, artifacts=[merged.ref])
