"""Gates that bring a task's branch forward: onto the newest base, and into a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.repository import RebaseConflict, RepositoryError
from hookline.domain.submissions import CONFLICT
from hookline.errors import HookFailure
from hookline.hooks.builtin.conflict_prompts import found_prompt, named_conflict
from hookline.hooks.builtin.gates_common import (
    SOON,
    astray,
    is_yours,
    passed,
    refused,
    skipped,
    standing,
    task_text,
    told,
    waiting,
)
from hookline.hooks.builtin.gates_push import push
from hookline.hooks.builtin.stop_context import one_line
from hookline.hooks.framing import ends, framed

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.domain.forge import PullRequest
    from hookline.domain.repository import Rebased, RepositoryState
    from hookline.hooks.builtin.gates_common import Judging

MAX_BODY = 32 * 1024
SHOWN = 50


async def rebase_on_main(judging: Judging) -> GateAnswer:
    """The work must stand on the newest base; it is moved there unless the two conflict."""
    base, branch = judging.context.base_branch, judging.context.branch_name
    if judging.is_trial or is_yours(judging):
        if (answer := astray(judging, await standing(judging))) is not None:
            return answer
        why = "a trial changes nothing: the work was not moved onto"
        own = "your own branch is not moved: the merge joins it with the newest"
        return skipped(f"{why if judging.is_trial else own} {base}")
    try:
        # Before it says where the work stands, the repository ends what we began and did not end.
        moved = await judging.repository.rebase(judging.folder, base, branch=branch)
    except RepositoryError as problem:
        return await _hindered(judging, problem)
    if isinstance(moved, RebaseConflict):
        return _conflict(base, moved)
    await _verify(judging, moved)
    context = {"rebased": moved.needed, "head": moved.head}
    if not moved.needed:
        return passed(f"nothing to do: the work stands on the newest {base}", context)
    return passed(f"rebased onto {base} at {moved.onto[:12]}", context)


async def _verify(judging: Judging, moved: Rebased) -> None:
    state = await standing(judging)
    if (state.head, state.branch) != (moved.head, judging.context.branch_name):
        raise HookFailure(
            f"after the rebase {state.branch} stands at {state.head}, not at {moved.head}"
        )


async def _hindered(judging: Judging, problem: RepositoryError) -> GateAnswer:
    """Why nothing was rebased: for what an agent can fix, with a prompt."""
    state = await standing(judging)
    base = judging.context.base_branch
    if state.operation is not None:
        return refused(told(problem), unfinished_prompt(state.operation))
    if (answer := astray(judging, state)) is not None:
        return answer
    if state.dirty:
        return refused(told(problem), _uncommitted(judging, state))
    raise HookFailure(f"nothing was rebased onto {base}: {told(problem)}") from problem


def unfinished_prompt(operation: str) -> str:
    """How an agent gets out of the middle of something that git does."""
    return (
        f"Git is in the middle of a {operation} in this folder, so your work cannot be judged."
        f" Finish the {operation}, or end it with `git {operation} --abort` if it is not wanted."
        " Lose no work."
    )


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
    """The branch is pushed and its pull request is open; one that is open already is kept."""
    context = judging.context
    if context.extra.get("skip_pr") is True:
        return skipped("this work is merged without a pull request")
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    if not await judging.repository.commits_ahead(judging.folder, context.base_branch):
        return refused(f"{context.branch_name} has no commits that {context.base_branch} has not")
    if judging.is_trial:
        return skipped("a trial changes nothing: nothing was pushed, no pull request was opened")
    if (answer := await push(judging)) is not None:
        return answer
    pull = await judging.forge.open_pull_request(
        context.branch_name, context.base_branch, context.task_title, await _body(judging)
    )
    return _opened(judging, state, pull)


async def _body(judging: Judging) -> str:
    """The pull request's text: the task, then the commits and the files that they change."""
    context = judging.context
    commits = await judging.repository.commits(judging.folder, context.base_branch, SHOWN)
    files = await judging.repository.changed_files(judging.folder, context.base_branch)
    by = f" by {context.agent_name}" if context.agent_name else ""
    made = _listed([f"{each.sha[:12]} {each.subject}" for each in commits])
    return (
        f"{ends(task_text(judging), MAX_BODY)}\n\n---\n\nTask {context.task_id}{by}.\n\n"
        f"Commits:\n\n{made}\n\nFiles ({len(files)}):\n\n{_listed(files)}\n"
    )


def _listed(names: list[str]) -> str:
    more = [f"- and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return "\n".join([*(f"- {one_line(name, 200)}" for name in names[:SHOWN]), *more])


def _opened(judging: Judging, state: RepositoryState, pull: PullRequest) -> GateAnswer:
    if pull.state != "open" or pull.branch != judging.context.branch_name:
        raise HookFailure(f"pull request {pull.number} is {pull.state}, of branch {pull.branch}")
    if pull.head is not None and pull.head != state.head:
        return waiting(
            f"pull request {pull.number} does not show commit {str(state.head)[:12]} yet",
            "forge",
            SOON,
        )
    return passed(
        f"pull request {pull.number} is open: {pull.url}",
        {"pr_url": pull.url, "pr_number": pull.number, "head": state.head},
    )
