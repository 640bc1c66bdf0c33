"""The payload of gates' points, which describes a task's work, and the answer of gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.answers import GateAnswer
from hookline.domain.text.display import line_of
from hookline.sessions.requests import ChecksTold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.work.submissions import Submission

MAX_TITLE = 120


def gate_payload(
    work: Submission, goal: str, task_path: str, commits: int, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """The work that a gate checks."""
    return {
        "task_id": work.task_id,
        "task_title": line_of(goal, MAX_TITLE),
        "task_path": task_path,
        "task_type": work.task_type,
        "branch_name": work.branch,
        "base_branch": work.base,
        "worktree": work.worktree,
        "agent_name": work.agent or "",
        "commits_count": commits,
        "extra": {**extra, "skip_pr": work.skip_pr},
    }


class Moved(msgspec.Struct):
    """Where a built-in gate moved the work to, and the gates that had passed before."""

    head: str | None
    before: list[str] = []


class PointAnswer(GateAnswer):
    """The combined answer of a point's gates; journals of older versions lack some of it.

    `hook` decided it, `passed` are those that passed the work, now or before. `gates` is what each
    said in short, `judged` are the commits that built-in gates checked.
    """

    hook: str | None = None
    passed: tuple[str, ...] = ()
    gates: tuple[dict[str, Any], ...] = ()
    judged: tuple[str, ...] = ()
    moved: Moved | None = None
    ahead: ChecksTold = msgspec.field(default_factory=ChecksTold)

    def outdated(self, asked: str | None, now: str | None) -> list[str] | None:
        """The gates that passed other work than there is `now`; None if that is unknown.

        The gates were asked about one commit. Only our own rebase may have moved it since, and
        those before it have not seen what came of it.
        """
        moved = self.moved or Moved(asked)
        # Someone may have replaced the commit for a moment.
        if now is None or now != moved.head or not {asked, now}.issuperset(self.judged):
            return None
        return moved.before
