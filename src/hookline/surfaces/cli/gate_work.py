"""A task's work as its gates see it: where it stands, on which branch, and who did it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.config.claiming import claim_rule
from hookline.domain.repository import RepositoryError
from hookline.domain.sessions import SessionBusy
from hookline.domain.submissions import Submission
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import gate_verbs
from hookline.flows.session_verbs import session_on
from hookline.surfaces.cli.output import untrusted
from hookline.surfaces.cli.session_facts import last_ending
from hookline.tasks.work_record import is_excused
from hookline.wiring.calls import repository
from hookline.wiring.work import pin_base

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hookline.adapters.repository import GitRepository
    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

# So many sessions are looked through for the one that worked on a task.
SESSIONS = 1000
SHOWN = 5
BASES = ("main", "master")


def task_argument(p: ArgumentParser) -> None:
    """The task that a command is about."""
    p.add_argument("task", help="the task, such as T-12")


def agent_argument(p: ArgumentParser) -> None:
    """Whose work it is, where that is not known or shall be another."""
    p.add_argument("--agent", metavar="NAME", help="the agent profile (default: who did the work)")


# Who


def worker_of(app: App, view: View, task: Task, named: str | None = None) -> str | None:
    """The profile whose work it is: as named, who works or worked on it, or the usual one."""
    profiles = app.settings.agents if app.settings is not None else {}
    if named is not None:
        if named not in profiles:
            raise BadInput(
                f"there is no agent '{untrusted(named, 80)}'",
                help="agents are listed under `agents:` in hookline.yaml",
            )
        return named
    run = gate_verbs.run_of(view, task.id)
    if run is not None:
        return run.input.get("agent")
    worked = _last_session(view, task)
    if worked is not None and worked[1].get("agent") in profiles:
        return str(worked[1]["agent"])
    claims = view.log.events(node_id=task.id, types=("task_claimed",))
    for event in reversed(claims):
        if event.data["agent"] in profiles:
            return str(event.data["agent"])
    return _usual(app, task)


def _last_session(view: View, task: Task) -> tuple[str, dict[str, Any]] | None:
    """The last session that worked on a task, and what it was given."""
    given = ((run_id, view.runs.find(run_id).input) for run_id in view.sessions.newest(SESSIONS))
    return next((each for each in given if each[1]["taskId"] == task.id), None)


def _usual(app: App, task: Task) -> str | None:
    if app.settings is None:
        return None
    sections, allowed = app.settings.sections, claim_rule(app.settings)
    known = sections.task_types.get(task.type or "")
    wanted = [sections.agent, *(known.agents.implementer if known else ()), *sections.agents]
    fitting = (each for each in wanted if each in sections.agents and allowed(each, task.type))
    return next(fitting, None)


def refuse_at_work(app: App, view: View, task: Task) -> None:
    """Refuse work that an agent is still busy with."""
    place = app.session
    if place is not None and place.task_id == task.id:
        raise IllegalTransition(
            f"your session works on {task.id}; it is submitted when the session is complete",
            help=f"say that it is done: `hookline task complete {task.id}`",
        )
    run = session_on(view, task.id)
    if run is not None:
        raise SessionBusy(
            f"session '{untrusted(run.input['name'], 80)}' still works on {task.id}",
            help="end it first: `hookline session stop`",
        )


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
        worktree=folder,
        branch=branch,
        base=base,
        agent=agent,
        task_type=task.type,
        conversation=conversation,
        turns=task.turns_used or 0,
        skip_pr=skip_pr or _merges_directly(app, task),
    )


async def refuse_uncommitted(app: App, task: Task, work: Submission) -> None:
    """Refuse a person's own branch where all there is is not committed: that is work, not none.

    In a task's worktree it is committed for whoever did it.
    """
    git = repository(app)
    with app.read() as view:
        excused = is_excused(view, task)
    if excused or os.path.realpath(work.worktree) != os.path.realpath(git.root):
        return
    state = await git.describe()
    if state.dirty and not await git.commits_ahead(work.worktree, work.base):
        more = f" and {state.dirty_count - SHOWN} more" if state.dirty_count > SHOWN else ""
        raise RepositoryError(
            f"{untrusted(work.branch, 80)} has no commit to submit for {task.id}, only changes"
            f" that are not committed: {untrusted(', '.join(state.dirty[:SHOWN]), 300)}{more}",
            help="commit first; if the task needs no commit:"
            f" `hookline task update {task.id} --changes none`",
        )


async def _place(git: GitRepository, task: Task) -> tuple[str, str, str]:
    await _refuse_unusable(git, git.root)
    for each in await git.worktrees():
        if each.task == task.id:
            own = await git.worktree(task.id) if each.lost else each
            await git.recover(own.folder)
            await _refuse_unusable(git, own.folder)
            return own.folder, own.branch, own.base
    base, state = await git.base_branch(), await git.describe()
    if state.branch == base:
        base = await _usual_base(git, base)
    if state.branch is None:
        raise RepositoryError(
            f"{task.id} has no worktree, and no branch is checked out",
            help="check out the branch that its work is on: `git switch BRANCH`",
        )
    if state.branch == base:
        raise RepositoryError(
            f"there is no work of {task.id}: it has no worktree, and {untrusted(base, 80)},"
            " which work goes into, is checked out",
            help="commit it on a branch of its own: `git switch -c BRANCH`",
        )
    return git.root, state.branch, base


async def _usual_base(git: GitRepository, current: str) -> str:
    """Where nothing names the base, it is taken to be what is checked out, work included."""
    if current not in BASES and not await git.base_is_named():
        for name in BASES:
            with suppress(RepositoryError):
                await git.merge_base(git.root, name)
                return name
    return current


async def _refuse_unusable(git: GitRepository, folder: str) -> None:
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
    run_id, given = last
    same = (given.get("agent"), given.get("worktree") or app.project.root)
    ended = last_ending(view, run_id) or {}
    return ended.get("conversation") if same == (agent, folder) else None


def _merges_directly(app: App, task: Task) -> bool:
    known = app.settings.task_types.get(task.type or "") if app.settings is not None else None
    return known is not None and known.skip_pr
