"""All that was said about a task's work, in order: by its gates, by the merge, and by its author.

For people, who decide by it: `gate list`, `why`, `task show` and the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.promises import without_promises
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.flows.journal import inside
from hookline.flows.merge_trust import UNTRUSTED, WAITS
from hookline.hooks.builtin.gates_keepers import Comment, comment_line
from hookline.hooks.verdicts import Verdict, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.runs import JournalEffect, Run
    from hookline.ports.store import Blobs, View

MAX_COMMENTS = 50


class Judgement(NamedTuple):
    """A verdict, what a reviewer asks for in it, and what the author of the work said to it."""

    verdict: Verdict
    comments: list[str]
    answer: str = ""


def judgements(view: View, task_id: str, blobs: Blobs) -> list[Judgement]:
    """What gates and merges said about a task's work, in order."""
    found = [*verdicts(view, task_id), *_troubles(view, task_id, blobs)]
    rows = [Judgement(each, comments(each)) for each in sorted(found, key=lambda each: each.seq)]
    for run, effect in _effects(view, task_id):
        if effect.kind == "agent" and effect.resolved_seq is not None:
            _note_answer(rows, run, effect, blobs)
    return rows


def trouble_of(effect: JournalEffect, blobs: Blobs) -> tuple[str, str] | None:
    """What kept work from being committed or merged, and why, where no gate says so."""
    if effect.kind != "repo" or effect.resolved_seq is None:
        return None
    value = inside(effect.value, blobs)
    if not isinstance(value, dict):
        return None
    if effect.args["verb"] == "merge" and value.get("status") not in ("merged", UNTRUSTED, WAITS):
        return "merge", str(value.get("message") or "it failed")
    if effect.args["verb"] == "prepare" and value.get("refused"):
        return "worktree", str(value["refused"])
    return None


def comments(verdict: Verdict) -> list[str]:
    """The comments of reviewers, a text for each; any hook may have something of that name."""
    keepers = verdict.context.get("gatekeepers")
    said = []
    for keeper in keepers if isinstance(keepers, list) else ():
        given = keeper.get("comments") if isinstance(keeper, dict) else None
        for each in given if isinstance(given, list) else ():
            try:
                said.append(comment_line(msgspec.convert(each, Comment)))
            except msgspec.ValidationError:
                continue
    return [line for line in said if line][:MAX_COMMENTS]


def _troubles(view: View, task_id: str, blobs: Blobs) -> Iterator[Verdict]:
    for run, effect in _effects(view, task_id):
        if (trouble := trouble_of(effect, blobs)) is None:
            continue
        assert effect.resolved_seq is not None  # else it has found nothing yet
        name, message = trouble
        value: dict[str, Any] = inside(effect.value, blobs)
        yield Verdict(
            point=name,
            hook=None,
            status="failure",
            message=message,
            remediation_prompt=value.get("remediationPrompt"),
            started_at=effect.requested_at,
            run=run.run_id,
            seq=effect.resolved_seq,
        )


def _note_answer(rows: list[Judgement], run: Run, effect: JournalEffect, blobs: Blobs) -> None:
    """Put what the author said beside what they were asked to fix."""
    value = inside(effect.value, blobs)
    said = value.get("error") or value.get("text") if isinstance(value, dict) else None
    for place in reversed(range(len(rows))):
        each = rows[place].verdict
        if each.run == run.run_id and each.seq < effect.requested_seq:
            answer = " ".join(without_promises(str(said or "")).split())
            rows[place] = rows[place]._replace(answer=answer or "nothing")
            return


def _effects(view: View, task_id: str) -> Iterator[tuple[Run, JournalEffect]]:
    for flow in (SUBMIT, MERGE):
        for run in view.runs.of_flow(flow):
            if run.input.get("taskId") == task_id:
                yield from ((run, effect) for effect in view.runs.effects(run))
