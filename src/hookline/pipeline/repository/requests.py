"""What the flows of the pipeline ask of the repository, and the answers.

Journals hold both, those of older versions included: a field that one lacks has its default.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hookline.domain.work.forge import MergeMethod
from hookline.domain.work.submissions import COMPARED, MAX_FILE
from hookline.sessions.requests import ChecksTold

MergeStatus = Literal["merged", "refused", "failed", "conflict", "changed", "untrusted", "waits"]
# The end of a merge that is made later: once a person trusts it, or the forge allows it.
UNTRUSTED: MergeStatus = "untrusted"
WAITS: MergeStatus = "waits"


class RepoRequest(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A task's work, and what to do with it; its `worktree` is recorded from the root.

    `note` is what identifies an open conflict, `answered` whether a turn was
    about it. `head` is the commit that passed the gates, `heads` are all that the work has been,
    and `told` the reviews that its agent has heard of. What is asked `of_parts` is about the tasks
    that the work is split into.
    """

    verb: str
    task_id: str = ""
    worktree: str = ""
    branch: str = ""
    base: str = ""
    uncommitted: str = "commit"
    max_file: int = MAX_FILE
    note: str | None = None
    answered: bool = False
    method: MergeMethod = "merge"
    test: str | None = None
    head: str | None = None
    judged: str | None = None
    heads: list[str] = []
    told: dict[str, str] = {}
    pull_request: int | None = None
    skip_pr: bool = False
    remove_pushed: bool = False
    of_parts: bool = False


class PreparedWork(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The state of a task's work, or why it is `refused`.

    `conflict` is whether it lies open in the files, `conflicts` whether it has to be opened there,
    `settled` whether none is open any more. `uncommitted` is named where only what is committed
    counts. `fork` is where the work left its base. Without commits, `elsewhere` says what was done
    where, `lost` that it was lost.
    """

    goal: str
    task: str = ""
    task_path: str = ""
    commits: int = 0
    head: str | None = None
    fork: str | None = None
    ahead: ChecksTold = {}
    settled: bool = True
    refused: str | None = None
    remediation_prompt: str | None = None
    conflict: bool = False
    conflicts: bool = False
    note: str | None = None
    uncommitted: list[str] | None = None
    uncommitted_count: int = 0
    without_commits: str | None = None
    elsewhere: str | None = None
    lost: bool = False

    @property
    def compared(self) -> dict[str, list[str | None]]:
        """What gates are told about it: a base that has it no longer shows what it changed."""
        return {} if self.fork is None else {COMPARED: [self.fork, self.head]}


class MergeResult(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """How a merge went, or why it did not.

    With a `remediation_prompt` an agent can do something about it; `onto` is the commit that the
    work conflicts with. One that is made later tells what it `waits_for`, and when to ask again.
    """

    status: MergeStatus
    message: str = ""
    remediation_prompt: str | None = None
    head: str | None = None
    onto: str | None = None
    command: str | None = None
    ahead: ChecksTold = {}
    told: dict[str, str] = {}
    waits_for: str | None = None
    retry_after: float = 0.0
    # What was merged
    sha: str | None = None
    base: str | None = None
    commits: int | None = None
    tested_by: list[str] = []
    untested: str | None = None
    unjudged: bool = False
    beneath: list[str] = []
    notices: list[str] = []
    pr_url: str | None = None
    # What git did not let be moved
    kind: str | None = None
    checkout: str | None = None
    paths: list[str] = []
