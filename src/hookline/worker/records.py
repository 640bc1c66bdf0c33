"""What a worker reports about its tasks, record by record, as `work --json` prints them."""

from __future__ import annotations

import time
from typing import ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from hookline.domain.sessions.turns import AgentProblem
from hookline.domain.timestamps import iso
from hookline.ports.feeds import FeedRecord
from hookline.queries.waiting.gates import Waiting


class TaskNews(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """The base of all: the task that a record is about."""

    kind: ClassVar[str]
    task_id: str


class RunNews(TaskNews, kw_only=True, frozen=True):
    """Something about a run of a task: a session, a submission or a merge."""

    run_id: str
    agent: str | None


class Begun(NamedTuple):
    """A session on a task."""

    run_id: str
    task_id: str


class TaskBegun(RunNews, kw_only=True, frozen=True):
    """A session starts or resumes."""

    kind = "task_begun"
    session: str
    goal: str
    resumed: bool


class SessionEnded(RunNews, kw_only=True, frozen=True):
    """A session is over, or does not continue without a person."""

    kind = "session_ended"
    session: str | None
    outcome: str
    reason: str
    message: str | None
    iterations: int | None
    waits_for: list[str]
    problem: AgentProblem | None


class SubmissionStarted(RunNews, kw_only=True, frozen=True):
    """Work is on its way through gates, or into the base branch."""

    kind = "submission_started"
    flow: str


class Remediation(RunNews, kw_only=True, frozen=True):
    """The agent fixes what a gate found."""

    kind = "remediation"


class GateSpoke(TaskNews, kw_only=True, frozen=True):
    """A gate's verdict; without a hook, the point has no gate."""

    kind = "gate"
    run_id: str | None
    point: str
    hook: str | None
    status: str
    message: str
    duration_ms: float | None
    remediation_prompt: str | None
    waits_for_person: bool
    comments: list[str]


class Trouble(RunNews, kw_only=True, frozen=True):
    """Why work is not merged, if no gate says so."""

    kind = "trouble"
    name: str
    reason: str


class AskedAgain(RunNews, kw_only=True, frozen=True):
    """When a gate that waits for no person is asked again."""

    kind = "asked_again"
    hook: str | None
    at: str
    message: str | UnsetType = UNSET


class AsksPerson(RunNews, kw_only=True, frozen=True):
    """A merge waits for a person."""

    kind = "asks_person"
    reason: str
    command: str


class ModelWaits(RunNews, kw_only=True, frozen=True):
    """An agent waits for its model."""

    kind = "model_wait"
    reason: str | None
    at: str


class Submitted(RunNews, kw_only=True, frozen=True):
    """Work has passed its gates."""

    kind = "submitted"
    pr_url: str | None


class WorkMerged(RunNews, kw_only=True, frozen=True):
    """Work was merged, and why untested, if it is."""

    kind = "merged"
    sha: str
    untested: str | None


class CompletedWithoutCommit(RunNews, kw_only=True, frozen=True):
    """A task is completed without a commit."""

    kind = "completed"


class SentBack(TaskNews, kw_only=True, frozen=True):
    """Work did not pass."""

    kind = "sent_back"
    reason: str | None


class RunFailed(RunNews, kw_only=True, frozen=True):
    """A run failed or was cancelled."""

    kind = "run_failed"
    flow: str
    reason: str


class RunParked(RunNews, kw_only=True, frozen=True):
    """A run needs a person."""

    kind = "parked"
    flow: str
    reason: str | None
    help: str | None


class CannotBegin(TaskNews, kw_only=True, frozen=True):
    """A task that is left alone."""

    kind = "cannot_begin"
    code: str
    message: str
    help: str | None


class WorkRecord(msgspec.Struct, frozen=True):
    """One record as `--json` shows it."""

    type: str
    timestamp: str
    data: TaskNews


class FeedLine(msgspec.Struct, frozen=True):
    """A line of a run's feed, for the view of the lanes."""

    run_id: str
    line: FeedRecord


class Figures(msgspec.Struct, frozen=True):
    """The status: `spent` by task, `waits` by run."""

    ready: int
    usd: float
    spent: dict[str, float]
    waits: dict[str, Waiting | None]


def record(data: TaskNews, timestamp: str | None = None) -> WorkRecord:
    """A record with the current time, unless it happened before."""
    return WorkRecord(data.kind, timestamp or iso(time.time()), data)
