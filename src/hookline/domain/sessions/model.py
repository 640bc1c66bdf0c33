"""Sessions: an agent that works in a loop, and what is known about one from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import HooklineError
from hookline.project import recorded_path

if TYPE_CHECKING:
    from hookline.domain.work.repository import Worktree

FLOW = "session"
# The one signal that sessions listen to; its value says what is wanted.
SIGNAL = "session"
# What the worker, and its log in the background, are called; no session is.
WORKER = "work"

COMPLETED, ESCALATED, LIMIT = "completed", "escalated", "limit"
STOPPED, FAILED = "stopped", "failed"

# What a run remembers of its session under this name: "live", "paused", or how it ended.
STANDING = "hookline.session"
LIVE, PAUSED = "live", "paused"


def outcome_word(outcome: str, reason: str | None) -> str:
    """An outcome in a word: an agent that fails each time has failed, not reached a limit."""
    return FAILED if (outcome, reason) == (LIMIT, "failures") else outcome


class UnknownSession(HooklineError, code="unknown-session"):
    """There is no such session."""

    help = "`hookline session list` shows them all"


class SessionBusy(HooklineError, code="session-busy"):
    """A session of that name, or on that task, is there already."""


class HeldOutput(msgspec.Struct, frozen=True):
    """What one hook has to say to an agent."""

    event_seq: int
    hook: str
    point: str
    text: str


class SessionInput(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a session is asked to do: the input of its run.

    With a `branch`, the agent works in a worktree, and what it finishes goes through the gates
    into the `base`. The `worktree` is named as seen from the project's root. With `plan` it plans
    first, as where the configuration wants that; if it `shows_plan`, the session rests after that
    until a person resumes it. A task that is `part` of a plan, or was planned before, is not
    planned because the configuration wants plans.
    """

    name: str
    goal: str
    task_id: str
    agent: str | None = None
    limits: dict[str, Any] = {}
    worktree: str | None = None
    branch: str | None = None
    base: str | None = None
    skip_pr: bool = False
    plan: bool = False
    shows_plan: bool = False
    part: bool = False

    def in_worktree(self, root: str, place: Worktree, *, skip_pr: bool) -> SessionInput:
        """The same work, done in a worktree and delivered through the gates."""
        folder = recorded_path(root, place.folder)
        return msgspec.structs.replace(
            self, worktree=folder, branch=place.branch, base=place.base, skip_pr=skip_pr
        )
