"""What the built-in gates share: the work that one judges, its answers, and words for an agent."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.answers import GateAnswer
from hookline.errors import HookFailure
from hookline.hooks.builtin.stop_context import one_line
from hookline.hooks.framing import file_name

if TYPE_CHECKING:
    from hookline.domain.payloads import GateContext
    from hookline.domain.repository import RepositoryState
    from hookline.errors import HooklineError
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook
    from hookline.ports.work import Forge, Repository

MAX_MESSAGE = 1000
SOON, LATE = 5.0, 3600.0


class Judging(NamedTuple):
    """One gate that is asked about one task's work; `arguments` are of the gate's own type."""

    hook: Hook
    context: GateContext
    arguments: Any
    call: Call
    world: World

    @property
    def folder(self) -> str:
        """Where the work is."""
        return self.world.folder

    @property
    def is_trial(self) -> bool:
        """Whether the gates are only tried: then nothing may be changed."""
        return self.context.extra.get("trial") is True

    @property
    def env(self) -> dict[str, str]:
        """The environment of programs and agents that the gate starts."""
        return {**self.world.environ, **self.hook.env, **self.call.env}

    @property
    def repository(self) -> Repository:
        """The git repository of the project."""
        if self.world.repository is None:
            raise HookFailure(f"{self.hook.target} needs a git repository, and there is none")
        found: Repository = self.world.repository
        return found

    @property
    def forge(self) -> Forge:
        """Where pull requests live."""
        if self.world.forge is None:
            raise HookFailure(f"{self.hook.target} needs a forge, and none is set up")
        return self.world.forge


# Answers.


def passed(message: str, context: dict[str, Any] | None = None) -> GateAnswer:
    """The work may pass."""
    return GateAnswer(status="success", message=_said(message), context=context or {})


def skipped(message: str) -> GateAnswer:
    """There was nothing to judge."""
    return GateAnswer(status="skip", message=_said(message))


def refused(
    message: str, prompt: str | None = None, context: dict[str, Any] | None = None
) -> GateAnswer:
    """The work may not pass; with a prompt an agent can do something about it."""
    return GateAnswer(
        status="failure",
        message=_said(message),
        context=context or {},
        remediation_prompt=prompt,
    )


def waiting(
    message: str, waits_for: str, retry_after: float | None = None, **context: Any
) -> GateAnswer:
    """It cannot be told yet, for whom the gate waits says the context."""
    return GateAnswer(
        status="pending",
        message=_said(message),
        context={"waitsFor": waits_for, **context},
        retry_after=retry_after,
    )


def pause_until(moment: float | None, otherwise: float) -> float:
    """How long to wait for a moment in seconds since 1970, within bounds."""
    return otherwise if moment is None else min(LATE, max(SOON, moment - time.time()))


def _said(message: str) -> str:
    return one_line(message, MAX_MESSAGE)


# Words for an agent.


def told(problem: HooklineError) -> str:
    """An error with its remedy."""
    return f"{problem.message}; {problem.help}" if problem.help else problem.message


def task_text(judging: Judging) -> str:
    """What the task asks for, as the store has it: its file is where the work can write."""
    return judging.world.task or judging.context.task_title


# The work.


async def standing(judging: Judging) -> RepositoryState:
    """The worktree as git sees it; a HookFailure where no work can be judged."""
    state = await judging.repository.describe(judging.folder)
    if state.blocking is not None:
        raise HookFailure(f"{state.blocking.message}; {state.blocking.help}")
    if state.head is None:
        raise HookFailure("there are no commits in the worktree; make a first commit")
    return state


def is_yours(judging: Judging) -> bool:
    """Whether the work is on a branch in a person's own checkout, and not in a worktree."""
    return os.path.realpath(judging.folder) == os.path.realpath(judging.world.root)


def astray(judging: Judging, state: RepositoryState) -> GateAnswer | None:
    """The answer where something else than the task's branch is checked out."""
    wanted = judging.context.branch_name
    if state.branch == wanted:
        return None
    there = f"branch {state.branch}" if state.branch else "no branch"
    return refused(
        f"the worktree has {there} checked out, not {wanted}", astray_prompt(state, wanted)
    )


def astray_prompt(state: RepositoryState, wanted: str) -> str:
    """How an agent gets back onto its branch."""
    there = f"the branch {file_name(state.branch)}" if state.branch else "no branch"
    keep = f", and do not delete {file_name(state.branch)}" if state.branch else ""
    return (
        f"This folder has {there} checked out. Your work belongs on the branch `{wanted}`. Switch"
        f" to `{wanted}` and bring your commits there, for example with `git cherry-pick`."
        f" Switching is allowed for this. Lose no work{keep}."
    )
