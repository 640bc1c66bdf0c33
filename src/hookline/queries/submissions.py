"""How far a task's work has come on its way to the base branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.runs import model as runs
from hookline.errors import BLOCKED, FAILED, NEEDS_PERSON
from hookline.flows.journal import shown
from hookline.hooks.gates.verdicts import asked_person, verdicts_of

if TYPE_CHECKING:
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import Blobs, View

MERGED, SENT_BACK, WAITING, PARKED = "merged", "sent_back", "waiting", "parked"
EXITS = {SENT_BACK: BLOCKED, WAITING: NEEDS_PERSON, PARKED: NEEDS_PERSON}


class SubmissionState(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """How far a task's work has come.

    The outcome is submitted, merged, completed (there was no commit), sent_back, waiting (for a
    person), parked, failed or cancelled.
    """

    task_id: str
    run_id: str
    flow: str
    outcome: str
    state: str
    reason: str | None = None
    hook: str | None = None
    remediation_prompt: str | None = None
    pr_url: str | None = None
    sha: str | None = None
    uncommitted: list[str] = []
    uncommitted_count: int = 0
    untested: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of a command that leaves the work there."""
        failed = self.outcome in (runs.FAILED, runs.CANCELLED)
        return FAILED if failed else EXITS.get(self.outcome, 0)


def outcome_of(run: Run) -> str:
    """How a run of a submission or a merge ended, or its status."""
    found = run.value.get("outcome") if isinstance(run.value, dict) else None
    return str(found or run.status)


def submission_state(view: View, run: Run, blobs: Blobs) -> SubmissionState:
    """How far the work of a run has come."""
    task = view.graph.find(run.input["taskId"])
    value = run.value if isinstance(run.value, dict) else {}
    outcome, reason = outcome_of(run), value.get("reason") or run.error or run.reason
    asked = asked_person(view, run) if run.status not in runs.TERMINAL else None
    hook, prompt = (asked.hook, None) if asked else (None, None)
    if asked is not None:
        outcome, reason = WAITING, asked.message or reason
    elif run.status not in runs.TERMINAL:
        outcome = PARKED
    elif outcome == SENT_BACK:
        found = verdicts_of(view, run)
        failed = found[-1] if found and found[-1].status == "failure" else None
        hook, prompt = (failed.hook, failed.remediation_prompt) if failed else (None, None)
    names, count = _left_out(view.runs.effects(run), blobs)
    return SubmissionState(
        task_id=run.input["taskId"],
        run_id=run.run_id,
        flow=run.flow,
        outcome=outcome,
        state=task.state if task is not None else "deleted",
        reason=reason,
        hook=hook,
        remediation_prompt=prompt,
        pr_url=task.pr_url if task is not None else None,
        sha=value.get("sha"),
        uncommitted=names,
        uncommitted_count=count,
        untested=value.get("untested"),
    )


def _left_out(effects: list[JournalEffect], blobs: Blobs) -> tuple[list[str], int]:
    """The files of your own checkout that are not committed, so not submitted: some, how many."""
    for effect in reversed(effects):
        if effect.kind == "repo" and effect.args["verb"] == "prepare":
            value = shown(effect.value, blobs)
            if isinstance(value, dict):
                return list(value.get("uncommitted", ())), value.get("uncommittedCount", 0)
    return [], 0
