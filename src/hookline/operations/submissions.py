"""Submitting and merging a task's work: the run that does it, and what prevents it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.runs.model import TERMINAL
from hookline.domain.sessions.model import SessionBusy
from hookline.domain.tasks import SUBMITTED, Task, check_transition, shown_state
from hookline.domain.text.display import untrusted
from hookline.domain.work.repository import RepositoryError
from hookline.domain.work.submissions import MERGE, SUBMIT, Submission
from hookline.errors import BadInput, IllegalTransition
from hookline.operations.task_work import find_work, worker_of
from hookline.pipeline import gate_verbs
from hookline.project import path_here
from hookline.queries.submissions import MERGED, outcome_of
from hookline.sessions.starting import session_on
from hookline.tasks.task_runs import runs_on
from hookline.tasks.work_record import is_excused
from hookline.trust.people import refuse_agents
from hookline.wiring.running.flows import flow_finder
from hookline.wiring.working.repositories import repository
from hookline.wiring.working.work import bring_here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Transaction, View

SHOWN = 5


class BegunRun(NamedTuple):
    """A submission or a merge to be advanced, and whether it is new."""

    run: Run
    is_new: bool


class SubmitWishes(NamedTuple):
    """What a person may ask for besides.

    `agent` is whose work it is, `skip_pr` does without a pull request, `limits` are what the task
    may cost, in USD and tokens.
    """

    limits: Mapping[str, float]
    agent: str | None = None
    skip_pr: bool = False


async def submit(app: App, identifier: str, wishes: SubmitWishes) -> BegunRun:
    """The run that takes a task's work through its gates, started if there is none."""
    _check_wishes(app, "submit", wishes)
    begun = await _submission(app, identifier, wishes.agent, skip_pr=wishes.skip_pr)
    return _allow(app, begun, wishes.limits)


async def merge(app: App, identifier: str, wishes: SubmitWishes) -> BegunRun:
    """The run that merges a task's submitted work: under way, done, or started now."""
    _check_wishes(app, "merge", wishes)
    begun = await _merge(app, identifier, skip_pr=wishes.skip_pr)
    return begun if begun.run.status in TERMINAL else _allow(app, begun, wishes.limits)


def follow(app: App, run: Run, advance: Callable[[str], Run], *, merges: bool = True) -> Run:
    """Advance a submission, then the merge that it led to; the last run."""
    if run.status in TERMINAL:
        return run
    if run.flow == SUBMIT:
        run = advance(run.run_id)
        run = _its_merge(app, run) if merges else run
    return advance(run.run_id) if run.flow == MERGE and merges else run


def _check_wishes(app: App, command: str, wishes: SubmitWishes) -> None:
    """Refuse an agent what only a person decides, and anyone a limit that is none."""
    if wishes.skip_pr:  # the gates that look at a pull request are left out
        refuse_agents(app.environ, f"{command} --skip-pr")
    for name, value in wishes.limits.items():
        refuse_agents(app.environ, f"{command} --{name}")
        if not 0 < value < float("inf"):
            raise BadInput(f"--{name} must be greater than 0, not {value:g}")
    if wishes.agent is not None:  # whose work it is decides which gates check it
        refuse_agents(app.environ, f"{command} --agent")


def _allow(app: App, begun: BegunRun, limits: Mapping[str, float]) -> BegunRun:
    if limits:
        app.change(gate_verbs.allow, begun.run.run_id, limits)
    return begun


async def _submission(app: App, identifier: str, agent: str | None, *, skip_pr: bool) -> BegunRun:
    with app.read() as view:
        task = view.graph.task(identifier)
        run = gate_verbs.run_of(view, task.id)
        if run is not None:
            return BegunRun(run, is_new=False)
        if task.state != SUBMITTED:
            check_transition(task, "submit")
        refuse_at_work(app, view, task)
        agent = worker_of(app, view, task, agent)
    await bring_here(app, task.id)
    work = await find_work(app, task, agent, skip_pr=skip_pr)
    await _refuse_uncommitted(app, task, work)
    return _start(app, SUBMIT, work)


def _its_merge(app: App, run: Run) -> Run:
    """The merge that a submission led to; the submission itself if it led to none."""
    merge = run.value.get("mergeRun") if isinstance(run.value, dict) else None
    if not merge:
        return run
    with app.read() as view:
        return view.runs.find(merge)


async def _merge(app: App, identifier: str, *, skip_pr: bool) -> BegunRun:
    with app.read() as view:
        task = view.graph.task(identifier)
        run = gate_verbs.run_of(view, task.id)
        merges, before = list(runs_on(view, task.id, MERGE)), list(runs_on(view, task.id, SUBMIT))
        refuse_at_work(app, view, task)
        agent = worker_of(app, view, task)
    if run is not None and run.flow == SUBMIT:
        why = f"{task.id} is still being submitted ({run.run_id})"
        raise IllegalTransition(why, help=f"`hookline submit {task.id}` continues it")
    if run is not None:
        return BegunRun(run, is_new=False)
    if merges and outcome_of(merges[-1]) == MERGED:
        return BegunRun(merges[-1], is_new=False)
    if task.state != SUBMITTED:
        why = f"{task.id} is {shown_state(task.state)}: its work was not submitted"
        raise IllegalTransition(why, help=f"`hookline submit {task.id}` takes it through its gates")
    await bring_here(app, task.id)
    skip_pr = skip_pr or bool(before and before[-1].input.get("skipPr"))
    return _start(app, MERGE, await find_work(app, task, agent, skip_pr=skip_pr))


def _start(app: App, flow: str, work: Submission) -> BegunRun:
    """A new run, unless the work is already on its way."""
    pins = flow_finder(app).find(flow).pins

    def start(tx: Transaction) -> Run:
        found = gate_verbs.run_of(tx, work.task_id)
        return found or tx.runs.find(gate_verbs.start(tx, flow, work, pins))

    return BegunRun(app.change(start), is_new=True)


def refuse_at_work(app: App, view: View, task: Task) -> None:
    """Refuse work that an agent is still busy with."""
    place = app.origin.session
    if place is not None and place.task_id == task.id:
        why = f"your session works on {task.id}; it is submitted when the session is complete"
        help = f"mark it as done: `hookline task complete {task.id}`"
        raise IllegalTransition(why, help=help)
    run = session_on(view, task.id)
    if run is not None:
        why = f"session '{untrusted(run.input['name'], 80)}' still works on {task.id}"
        raise SessionBusy(why, help="end it first: `hookline session stop`")


async def _refuse_uncommitted(app: App, task: Task, work: Submission) -> None:
    """Refuse a person's own branch that has only uncommitted changes.

    In a task's worktree Hookline commits them.
    """
    git = repository(app)
    with app.read() as view:
        excused = is_excused(view, task)
    folder = path_here(git.root, work.worktree)
    if excused or os.path.realpath(folder) != os.path.realpath(git.root):
        return
    state = await git.describe()
    if state.dirty and not await git.history.commits_ahead(folder, work.base):
        more = f" and {state.dirty_count - SHOWN} more" if state.dirty_count > SHOWN else ""
        raise RepositoryError(
            f"{untrusted(work.branch, 80)} has no commit to submit for {task.id}, only changes"
            f" that are not committed: {untrusted(', '.join(state.dirty[:SHOWN]), 300)}{more}",
            help="commit first; if the task needs no commit:"
            f" `hookline task update {task.id} --changes none`",
        )
