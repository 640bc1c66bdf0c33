"""Everything said about a task's work, in order: by its gates, the merge and its author.

For `gate list`, `why`, `task show` and the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.sessions.promises import without_promises
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.flows.journal import shown
from hookline.hooks.builtin.gates.keepers import ReviewComment, comment_line
from hookline.hooks.gates.verdicts import GateVerdict, verdicts
from hookline.pipeline.repository.requests import UNTRUSTED, WAITS
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import Blobs, View

MAX_COMMENTS = 50


class GateReview(NamedTuple):
    """A verdict, the reviewer's comments in it, and the author's answer to it."""

    verdict: GateVerdict
    comments: list[str]
    answer: str = ""


def gate_reviews(view: View, task_id: str, blobs: Blobs) -> list[GateReview]:
    """What gates and merges said about a task's work, in order."""
    found = [*verdicts(view, task_id), *_troubles(view, task_id, blobs)]
    rows = [GateReview(each, comments(each)) for each in sorted(found, key=lambda each: each.seq)]
    for run, effect in _effects(view, task_id):
        if effect.kind == "agent" and effect.resolved_seq is not None:
            _note_answer(rows, run, effect, blobs)
    return rows


def trouble_of(effect: JournalEffect, blobs: Blobs) -> tuple[str, str] | None:
    """What prevented a commit or merge, and why, if no gate says so."""
    if effect.kind != "repo" or effect.resolved_seq is None:
        return None
    value = shown(effect.value, blobs)
    if not isinstance(value, dict):
        return None
    if effect.args["verb"] == "merge" and value.get("status") not in ("merged", UNTRUSTED, WAITS):
        return "merge", str(value.get("message") or "it failed")
    if effect.args["verb"] == "prepare" and value.get("refused"):
        return "worktree", str(value["refused"])
    return None


def comments(verdict: GateVerdict) -> list[str]:
    """The comments of reviewers, a text for each; any hook may have a value of that name."""
    keepers = verdict.context.get("gatekeepers")
    said = []
    for keeper in keepers if isinstance(keepers, list) else ():
        given = keeper.get("comments") if isinstance(keeper, dict) else None
        for each in given if isinstance(given, list) else ():
            try:
                said.append(comment_line(typed.convert(each, ReviewComment)))
            except msgspec.ValidationError:
                continue
    return [line for line in said if line][:MAX_COMMENTS]


def _troubles(view: View, task_id: str, blobs: Blobs) -> Iterator[GateVerdict]:
    for run, effect in _effects(view, task_id):
        if (trouble := trouble_of(effect, blobs)) is None:
            continue
        assert effect.resolved_seq is not None  # otherwise it has found nothing yet
        name, message = trouble
        value: dict[str, Any] = shown(effect.value, blobs)
        yield GateVerdict(
            point=name,
            hook=None,
            status="failure",
            message=message,
            remediation_prompt=value.get("remediationPrompt"),
            started_at=effect.requested_at,
            run=run.run_id,
            seq=effect.resolved_seq,
        )


def _note_answer(rows: list[GateReview], run: Run, effect: JournalEffect, blobs: Blobs) -> None:
    """Put the author's answer next to what they were asked to fix."""
    value = shown(effect.value, blobs)
    said = value.get("error") or value.get("text") if isinstance(value, dict) else None
    for place in reversed(range(len(rows))):
        each = rows[place].verdict
        if each.run == run.run_id and each.seq < effect.requested_seq:
            answer = " ".join(without_promises(str(said or "")).split())
            rows[place] = rows[place]._replace(answer=answer or "nothing")
            return


def _effects(view: View, task_id: str) -> Iterator[tuple[Run, JournalEffect]]:
    for run in runs_on(view, task_id, SUBMIT, MERGE):
        yield from ((run, effect) for effect in view.runs.effects(run))
