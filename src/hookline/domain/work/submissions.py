"""Work on its way to the base branch: what the flows `submit` and `merge` are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from hookline.domain.events import MERGED_UNTESTED, Event
from hookline.domain.runs.model import WAITS_FOR

SUBMIT, MERGE = "submit", "merge"
# The signal that wakes gates which wait: for a person's decision, or for news.
SIGNAL = "gate"
# The signal that wakes a merge whose work changes what trust covers.
TRUST = "trust"
# The signal that wakes a merge that is left to people.
PEOPLE = "people"
# The signal that wakes a merge that waits for checks, reviews or an answer of the forge.
FORGE = "forge"
# The signal that it may be a merge's turn.
TURN = "merge-turn"
# The value of a submission or a merge: what a person allows its task to cost.
LIMITS = "limits"
# The signal that there may be money again for turns of agents, and what such a gate waits for.
BUDGET = "budget"
# The signal that an agent which could not work may be able to, and what such a gate waits for.
AGENT = "agent"
# What is waited for where it is waited for one of these signals.
_WAITED_FOR = {
    SIGNAL: "its gates",
    TRUST: "you to trust what it changes",
    PEOPLE: "people to merge it",
    FORGE: "the forge",
    TURN: "its turn to be merged",
    BUDGET: "a larger budget",
    AGENT: "an agent that can work",
}
# In the context of a gate's answer: the commit of the base that the work is in conflict with.
CONFLICT = "conflictWith"
# In the payload of gates that are told what happened: where the work began, and its last commit.
COMPARED = "comparedCommits"
MAX_FILE = 5 * 1024 * 1024
# What `gates.test` says where nothing is to test the merged result.
NO_TEST = "none"
# Gates that have nothing to do for work that is merged without a pull request.
OF_PULL_REQUESTS = frozenset({"create_pr", "ci_status"})


class Submission(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A task's work: where it is, who did it, and in which conversation.

    The folder `worktree` is named as seen from the project's root.
    """

    task_id: str
    worktree: str
    branch: str
    base: str
    agent: str | None = None
    task_type: str | None = None
    conversation: str | None = None
    turns: int = 0
    skip_pr: bool = False


class GateSettings(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """What a run through the gates keeps of the configuration."""

    tries: int = 3
    turns: int = 20
    uncommitted: Literal["commit", "refuse"] = "commit"
    without_commits: str | None = None
    method: str = "merge"
    merge: str = "hookline"
    max_wait: float = 86_400.0
    test: str | None = None
    turn_timeout: float = 3600.0
    max_file: int = MAX_FILE
    delete_branch: bool = True
    # The prompt files of agents, by their name.
    roles: dict[str, str] = {}


def untested(events: Iterable[Event]) -> str | None:
    """Why nothing tested what a task's work was merged as, by the events of the task."""
    found = (event.data["reason"] for event in events if event.type == MERGED_UNTESTED)
    return next(found, None)


def waiting_for(signal: str) -> dict[str, str]:
    """The metadata of a wait for one of our signals."""
    return {WAITS_FOR: _WAITED_FOR[signal]}
