"""What the built-in gates share: the work to check, answers, and prompts for an agent."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.hooks.answers import GateAnswer
from hookline.domain.text.display import line_of
from hookline.domain.work.repository import Refused, RepositoryState
from hookline.errors import HookFailure, HooklineError
from hookline.hooks.framing import file_name, framed

if TYPE_CHECKING:
    from hookline.domain.payloads import GateContext
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook
    from hookline.ports.repository import Repository
    from hookline.ports.work import Forge

MAX_MESSAGE = 1000
SOON, LATE = 5.0, 3600.0
# How a push was refused, in the context of a gate's answer.
PUSH = "push"


class EarlyAnswer(Exception):
    """Ends a gate early, with its answer."""

    def __init__(self, answer: GateAnswer) -> None:
        self.answer = answer


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
    def skips_pr(self) -> bool:
        """Whether the work is merged without a pull request."""
        return self.context.extra.get("skip_pr") is True

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

    @property
    def task_text(self) -> str:
        """What the task asks for, as the store has it: its file is where the work can write."""
        return self.world.task or self.context.task_title

    @property
    def is_yours(self) -> bool:
        """Whether the work is on a branch in a person's own checkout, and not in a worktree."""
        return os.path.realpath(self.folder) == os.path.realpath(self.world.root)

    async def state(self) -> RepositoryState:
        """The worktree as git sees it; a HookFailure where no work can be checked."""
        state = await self.repository.describe(self.folder)
        if state.blocking is not None:
            raise HookFailure(f"{state.blocking.message}; {state.blocking.help}")
        if state.head is None:
            raise HookFailure("there are no commits in the worktree; make a first commit")
        return state

    def check_branch(self, state: RepositoryState) -> None:
        """Refuse where something else than the task's branch is checked out."""
        wanted = self.context.branch_name
        if state.branch != wanted:
            there = f"branch {state.branch}" if state.branch else "no branch"
            message = f"the worktree has {there} checked out, not {wanted}"
            raise EarlyAnswer(refused(message, astray_prompt(state, wanted)))

    async def head(self) -> str:
        """The commit that is checked: where the task's branch is in its worktree."""
        state = await self.state()
        self.check_branch(state)
        return str(state.head)

    async def push(self) -> None:
        """Bring the work to where the forge sees it, if that is on a remote.

        Refuse if that is not possible.
        """
        remote, branch = self.forge.push_remote, self.context.branch_name
        if remote is None or self.is_trial or self.skips_pr:
            return
        pushed = await self.repository.pushes.push(self.folder, branch, remote)
        if isinstance(pushed, Refused):
            raise EarlyAnswer(refused(*refusal(pushed, branch, remote), {PUSH: pushed.kind}))


# Answers.


def passed(message: str, context: dict[str, Any] | None = None) -> GateAnswer:
    """The work may pass."""
    return GateAnswer(status="success", message=_said(message), context=context or {})


def skipped(message: str) -> GateAnswer:
    """There was nothing to check."""
    return GateAnswer(status="skip", message=_said(message))


def refused(
    message: str, prompt: str | None = None, context: dict[str, Any] | None = None
) -> GateAnswer:
    """The work may not pass; with a prompt an agent can do something about it."""
    return GateAnswer("failure", _said(message), context or {}, remediation_prompt=prompt)


def waiting(
    message: str, waits_for: str, retry_after: float | None = None, **context: Any
) -> GateAnswer:
    """There is no verdict yet; the context says what the gate waits for."""
    about = {"waitsFor": waits_for, **context}
    return GateAnswer("pending", _said(message), about, retry_after=retry_after)


def pause_until(moment: float | None, otherwise: float) -> float:
    """How long to wait until a time in seconds since 1970, within bounds."""
    return otherwise if moment is None else min(LATE, max(SOON, moment - time.time()))


def _said(message: str) -> str:
    return line_of(message, MAX_MESSAGE)


# Words for an agent.


def told(problem: HooklineError) -> str:
    """An error with its remedy."""
    return f"{problem.message}; {problem.help}" if problem.help else problem.message


def unfinished_prompt(operation: str) -> str:
    """How an agent finishes or aborts a git operation that is in progress."""
    end = "git bisect reset" if operation == "bisect" else f"git {operation} --abort"
    return (
        f"Git is in the middle of a {operation} in this folder, so your work cannot be checked."
        f" Finish the {operation}, or end it with `{end}` if it is not wanted."
        " Lose no work."
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


def refusal(pushed: Refused, branch: str, remote: str) -> tuple[str, str | None]:
    """Why a push failed, and what an agent can do about it."""
    if pushed.kind == "diverged":  # whoever has no network cannot get what others pushed
        return pushed.reason, None
    if pushed.kind == "rejected":
        output = framed("What was said", f"{pushed.reason}\n{pushed.output}")
        return (
            pushed.reason,
            f"A rule or hook of {remote} rejected the push of `{branch}`. If it names a cause in"
            " your work or your commits, fix that; you may rewrite the commits of this branch. If"
            " it names none, or asks for something that you do not have, such as a number, that"
            " needs a person: make nothing up, and do not work around the rule. The"
            f" push is repeated after your turn.\n\n{output}",
        )
    return f"{pushed.reason}: {pushed.output}", None
