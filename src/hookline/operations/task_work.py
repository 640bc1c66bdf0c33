"""A task's work: who did it, where it is, on which branch; and what its gates say now."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.config.task_types import claim_rule, skips_pr
from hookline.domain.text.display import untrusted
from hookline.domain.work.repository import RepositoryError
from hookline.domain.work.submissions import Submission
from hookline.errors import BadInput
from hookline.pipeline import gate_verbs
from hookline.pipeline.gate_payload import gate_payload
from hookline.project import path_here, recorded_path
from hookline.queries.sessions import last_ending
from hookline.sessions.told.task_file import export_task
from hookline.wiring.calling.gates import ask_gates
from hookline.wiring.working.repositories import repository
from hookline.wiring.working.work import pin_base

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.repository import Repository
    from hookline.ports.store import View

# How many sessions are searched for the one that worked on a task.
SESSIONS = 1000
BASES = ("main", "master")


async def try_gates(
    app: App,
    task: Task,
    point: str,
    agent: str | None,
    observe: Callable[[str, dict[str, Any]], None],
) -> None:
    """Ask the gates of a point now; their answers are recorded and have no other effect."""
    work = await find_work(app, task, agent)
    folder = path_here(app.project.root, work.worktree)
    commits = await repository(app).history.commits_ahead(folder, work.base)
    with app.read() as view:
        path = recorded_path(app.project.root, export_task(view, task, folder))
    payload = gate_payload(work, task.goal, path, commits, {"approvals": [], "trial": True})
    await ask_gates(app, point, payload, observe)


# Who


def worker_of(app: App, view: View, task: Task, named: str | None = None) -> str | None:
    """The profile whose work it is: the named one, who works or worked on it, or the default."""
    profiles = app.sections.agents
    if named is not None:
        if named not in profiles:
            help = "agents are listed under `agents:` in hookline.yaml"
            raise BadInput(f"there is no agent '{untrusted(named, 80)}'", help=help)
        return named
    run = gate_verbs.run_of(view, task.id)
    if run is not None:
        return run.input.get("agent")
    worked = _last_session(view, task)
    claims = view.log.events(node_id=task.id, types=("task_claimed",))
    took = [
        *([worked.input.get("agent")] if worked else []),
        *(event.data["agent"] for event in reversed(claims)),
    ]
    return next((each for each in took if each in profiles), None) or _usual(app, task)


def _last_session(view: View, task: Task) -> Run | None:
    """The last session that worked on a task."""
    found = (view.runs.find(run_id) for run_id in view.sessions.newest(SESSIONS))
    return next((run for run in found if run.input["taskId"] == task.id), None)


def _usual(app: App, task: Task) -> str | None:
    if app.settings is None:
        return None
    sections, allowed = app.settings.sections, claim_rule(app.settings)
    known = sections.task_types.get(task.type or "")
    wanted = [sections.agent, *(known.agents.implementer if known else ()), *sections.agents]
    fitting = (each for each in wanted if each in sections.agents and allowed(each, task.type))
    return next(fitting, None)


# Where


async def find_work(
    app: App, task: Task, agent: str | None, *, skip_pr: bool = False
) -> Submission:
    """A task's work: in its worktree, or on the branch that is checked out."""
    folder, branch, base = await _place(repository(app), task)
    await pin_base(app, base)
    with app.read() as view:
        conversation = _conversation(app, view, task, agent, folder)
    return Submission(
        task_id=task.id,
        worktree=recorded_path(app.project.root, folder),
        branch=branch,
        base=base,
        agent=agent,
        task_type=task.type,
        conversation=conversation,
        turns=task.turns_used or 0,
        skip_pr=skip_pr or skips_pr(app.settings, task.type),
    )


async def _place(git: Repository, task: Task) -> tuple[str, str, str]:
    await _refuse_unusable(git, git.root)
    for each in await git.worktrees.list():
        if each.task == task.id:
            own = await git.worktrees.open(task.id) if each.lost else each
            await git.conflicts.recover(own.folder)
            await _refuse_unusable(git, own.folder)
            return own.folder, own.branch, own.base
    base, state = await git.bases.branch(), await git.describe()
    if state.branch == base:
        base = await _usual_base(git, base)
    if state.branch is None:
        help = "check out the branch that its work is on: `git switch BRANCH`"
        raise RepositoryError(f"{task.id} has no worktree, and no branch is checked out", help=help)
    if state.branch == base:
        raise RepositoryError(
            f"{task.id} has no work: it has no worktree, and its base branch {untrusted(base, 80)}"
            " is checked out",
            help="commit it on its own branch: `git switch -c BRANCH`",
        )
    return git.root, state.branch, base


async def _usual_base(git: Repository, current: str) -> str:
    """If nothing names the base, it is assumed to be what is checked out, work included."""
    if current not in BASES and not await git.bases.is_named():
        for name in BASES:
            with suppress(RepositoryError):
                await git.history.merge_base(git.root, name)
                return name
    return current


async def _refuse_unusable(git: Repository, folder: str) -> None:
    state = await git.describe(folder)
    unfinished = next((each for each in state.problems if each.code == "unfinished"), None)
    problem = state.blocking or unfinished
    if problem is not None:
        raise RepositoryError(problem.message, help=problem.help)


def _conversation(app: App, view: View, task: Task, agent: str | None, folder: str) -> str | None:
    """The conversation that the work was done in: agents keep them by folder."""
    last = _last_session(view, task)
    if last is None:
        return None
    place = path_here(app.project.root, last.input.get("worktree") or "")
    same = (last.input.get("agent"), place)
    ended = last_ending(view, last.run_id) or {}
    return ended.get("conversation") if same == (agent, folder) else None
