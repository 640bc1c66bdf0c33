"""The state of a repository, and what prevents working in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.checkout import BrokenWorktree, NoRepository
from hookline.adapters.git.door import GitFailed, NoGit, printable
from hookline.adapters.git.refs import is_shallow
from hookline.domain.work.repository import INITIAL, RepositoryState, SetupProblem

if TYPE_CHECKING:
    from hookline.adapters.git.refs import CheckoutStatus
    from hookline.adapters.git.repository.plumbing import Plumbing

SHOWN = 20
_KIND = ("--is-bare-repository", "--is-inside-work-tree")


async def describe(repo: Plumbing, folder: str | None = None) -> RepositoryState:
    """The state of the repository that a folder is in, with its problems."""
    folder = folder or repo.root
    doing = f"{folder} cannot be read as a repository"
    try:
        layout = await repo.layout(folder)
        if layout.code or not layout.text.startswith("true\n"):
            said = await repo.git(folder, "rev-parse", *_KIND, doing=doing, as_writer=True)
            words, bare = f"{folder} has no working tree", said.text.startswith("true\n")
            return _unusable("bare", words, "work in a clone of it", bare)
        status = await repo.status(folder)
    except NoGit as problem:
        return _unusable("no-git", problem.message, problem.help or "install git")
    except NoRepository:
        words = f"{folder} is not in a git repository"
        return _unusable("no-repository", words, "run `git init` there")
    except BrokenWorktree as problem:
        help = "`hookline run --task ID` reconnects it to the repository and keeps its files"
        return _unusable("broken-worktree", problem.message, help)
    except GitFailed as problem:
        return _unusable("unreadable", problem.message, "run `git status` there")
    return await _describe_checkout(repo, folder, status)


async def _describe_checkout(
    repo: Plumbing, folder: str, status: CheckoutStatus
) -> RepositoryState:
    at = repo.at(folder)
    commit, dirty = status
    state = RepositoryState(
        in_repository=True,
        top=at.top,
        head=None if commit == INITIAL else commit,
        branch=await repo.branch(folder),
        remotes=tuple(await repo.settings.remotes()),
        shallow=is_shallow(at.common),
        submodules=os.path.lexists(os.path.join(at.top, ".gitmodules")),
        dirty=tuple(printable(name) for name in dirty[:SHOWN]),
        dirty_count=len(dirty),
        operation=await repo.operation(folder),
    )
    return _with_problems(state, not await repo.settings.has_identity(folder))


def _unusable(code: str, message: str, help: str, bare: bool = False) -> RepositoryState:
    """A repository in which no work can be done, or none at all."""
    problem = SetupProblem(code, message, help, blocks=True)
    return RepositoryState(in_repository=bare, bare=bare, problems=(problem,))


def _with_problems(state: RepositoryState, nobody: bool) -> RepositoryState:
    """A state with its problems; `nobody` if git does not know who commits."""
    found: list[SetupProblem] = []

    def add(code: str, message: str, help: str, *, blocks: bool = False) -> None:
        found.append(SetupProblem(code, message, help, blocks))

    if state.head is None:
        add("no-commits", "the repository has no commits yet", "make a first commit", blocks=True)
    if nobody:
        add(
            "no-identity",
            "git does not know who commits here",
            "run `git config user.name NAME` and `git config user.email ADDRESS`",
            blocks=True,
        )
    if state.operation is not None:
        add(
            "unfinished",
            f"git is in the middle of a {state.operation}",
            f"finish it, or run `git {state.operation} "
            f"{'reset' if state.operation == 'bisect' else '--abort'}`",
        )
    elif state.detached:
        add("detached", "no branch is checked out", "run `git switch BRANCH`")
    if state.dirty_count:
        add(
            "uncommitted",
            f"{state.dirty_count} uncommitted files, such as {state.dirty[0]}",
            "commit them if tasks need them; otherwise leave them",
        )
    if state.shallow:
        add(
            "shallow",
            "this clone is shallow: work cannot always be compared with its base",
            "run `git fetch --unshallow`",
        )
    if not state.remotes:
        add("no-remote", "there is no remote: work is merged here only", "`git remote add` one")
    return msgspec.structs.replace(state, problems=tuple(found))
