"""Gates that rebase a task's branch onto the newest base and open its pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.display import line_of
from hookline.domain.work.repository import (
    RebaseConflict,
    Rebased,
    RepositoryError,
    RepositoryState,
)
from hookline.domain.work.submissions import CONFLICT
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates.common import (
    SOON,
    passed,
    refused,
    skipped,
    told,
    unfinished_prompt,
    waiting,
)
from hookline.hooks.builtin.gates.conflict_prompts import found_prompt, named_conflict
from hookline.hooks.framing import ends, framed

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.hooks.answers import GateAnswer
    from hookline.domain.work.forge import PullRequest
    from hookline.hooks.builtin.gates.common import Judging
    from hookline.ports.repository import History

# Hookline writes what is below this line of a pull request's text, and keeps what is above it.
MARK = "<!-- hookline: kept up to date from here on -->"
MAX_BODY = 32 * 1024
SHOWN = 50


async def rebase_on_main(judging: Judging) -> GateAnswer:
    """Rebase the work onto the newest base; fail if the two conflict."""
    base, branch = judging.context.base_branch, judging.context.branch_name
    if judging.is_trial or judging.is_yours:
        await judging.head()
        why = "trial run: the work was not rebased onto"
        own = "your own branch is not rebased: the merge combines it with the newest"
        return skipped(f"{why if judging.is_trial else own} {base}")
    try:
        # Before it reports its state, the repository finishes what we started and did not finish.
        moved = await judging.repository.changes.rebase(judging.folder, base, branch=branch)
    except RepositoryError as problem:
        return await _hindered(judging, problem)
    if isinstance(moved, RebaseConflict):
        return _conflict(base, moved)
    await _verify(judging, moved)
    context = {"rebased": moved.needed, "head": moved.head}
    if not moved.needed:
        return passed(f"already based on the newest {base}", context)
    return passed(f"rebased onto {base} at {moved.onto[:12]}", context)


async def _verify(judging: Judging, moved: Rebased) -> None:
    state = await judging.state()
    if (state.head, state.branch) != (moved.head, judging.context.branch_name):
        there = f"{state.branch} is at {state.head}, not at {moved.head}"
        raise HookFailure(f"after the rebase {there}")


async def _hindered(judging: Judging, problem: RepositoryError) -> GateAnswer:
    """Why nothing was rebased: for what an agent can fix, with a prompt."""
    state = await judging.state()
    base = judging.context.base_branch
    if state.operation is not None:
        return refused(told(problem), unfinished_prompt(state.operation))
    judging.check_branch(state)
    if state.dirty:
        return refused(told(problem), _uncommitted(judging, state))
    raise HookFailure(f"nothing was rebased onto {base}: {told(problem)}") from problem


def _uncommitted(judging: Judging, state: RepositoryState) -> str:
    names = "\n".join(state.dirty)
    return (
        "Not all files in this folder are committed, so your work cannot be rebased onto"
        f" {judging.context.base_branch}. Commit those that belong to your task. Remove the others,"
        " or have git ignore them.\n\n" + framed("The files", names)
    )


def _conflict(base: str, found: RebaseConflict) -> GateAnswer:
    names = [each.path for each in found.files][:SHOWN]
    prompt = found_prompt(base, found.onto, found.files)
    context = {"conflicts": names, CONFLICT: found.onto}
    return refused(named_conflict(base, found.files), prompt, context)


# The pull request.


async def create_pr(judging: Judging) -> GateAnswer:
    """Push the branch and open its pull request, unless one is open already."""
    context = judging.context
    if judging.skips_pr:
        return skipped("this work is merged without a pull request")
    head = await judging.head()
    if not await judging.repository.history.commits_ahead(judging.folder, context.base_branch):
        return refused(
            f"{context.branch_name} has no commits that are not in {context.base_branch}"
        )
    if judging.is_trial:
        return skipped("trial run: nothing was pushed, and no pull request was opened")
    await judging.push()
    pull = await judging.forge.open_pull_request(
        context.branch_name, context.base_branch, context.task_title, await _body(judging)
    )
    return _opened(judging, head, pull)


async def _body(judging: Judging) -> str:
    """The pull request's text: the task, and below the mark what the work changes."""
    context = judging.context
    by = f" by {context.agent_name}" if context.agent_name else ""
    changed = await changes_made(
        judging.repository.history, judging.folder, context.base_branch, judging.world.clean
    )
    about = f"{ends(judging.task_text, MAX_BODY)}\n\n---\n\nTask {context.task_id}{by}."
    return f"{about}\n\n{MARK}\n\n{changed}\n"


async def changes_made(
    history: History, folder: str, base: str, clean: Callable[[str], str]
) -> str:
    """The commits of the work in a folder, and the files that they change."""
    commits = await history.commits(folder, base, SHOWN)
    files = await history.changed_files(folder, base)
    made = _listed([f"{each.sha[:12]} {each.subject}" for each in commits])
    changed = clean(_listed(files))  # git gives their names as they are
    return f"## Changes\n\nCommits:\n\n{made}\n\nFiles ({len(files)}):\n\n{changed}"


def _listed(names: list[str]) -> str:
    more = [f"- and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return "\n".join([*(f"- {line_of(name, 200)}" for name in names[:SHOWN]), *more])


def _opened(judging: Judging, head: str, pull: PullRequest) -> GateAnswer:
    if pull.state != "open" or pull.branch != judging.context.branch_name:
        raise HookFailure(f"pull request {pull.number} is {pull.state}, of branch {pull.branch}")
    if pull.head is not None and pull.head != head:
        message = f"pull request {pull.number} does not show commit {head[:12]} yet"
        return waiting(message, "forge", SOON)
    return passed(
        f"pull request {pull.number} is open: {pull.url}",
        {"pr_url": pull.url, "pr_number": pull.number, "head": head},
    )
