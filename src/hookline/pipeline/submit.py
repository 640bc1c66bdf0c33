"""Submitting: a task's work passes its gates and asks to be merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.hooks.gates.reports import GATES
from hookline.pipeline.gating import NO_WORK, Gating

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context
    from hookline.pipeline.gated_work import GatedWork


async def submit(ctx: Context, run: Run) -> Any:
    """The flow of a submission: gates, then the task is submitted and its merge begins."""
    gating = Gating(ctx, run)
    work, fixes = gating.work, gating.fixes
    prepared = await work.prepare()
    task_id = work.submission.task_id
    has_work = prepared.refused or prepared.commits
    refused = await gating.passes("before_submit") if has_work else NO_WORK
    if refused is NO_WORK:
        return await _without_commits(work)
    if refused is not None:
        return await gating.send_back(refused)
    commits, pr_url = work.prepared.commits, gating.context.get("pr_url")
    facts = {"commits": commits, "turns": fixes.turns, "prUrl": pr_url}
    await work.gate("submitted", facts)
    await gating.tell("after_submit")
    carried: dict[str, Any] = {"conversation": fixes.conversation, "turns": fixes.turns}
    context = {**gating.context, GATES: gating.reports}
    carried |= {"context": context, "submitted": gating.submitted}
    merge = await work.gate("start_merge", carried)
    return {"outcome": "submitted", "taskId": task_id, "mergeRun": merge["runId"], **facts}


async def _without_commits(work: GatedWork) -> Any:
    """Without work for gates to check, the task is completed, or sent back with a reason."""
    prepared, task_id = work.prepared, work.submission.task_id
    wanted = work.settings.without_commits or prepared.without_commits or "complete"
    done = await work.gate("without_commits", {"wanted": wanted, "elsewhere": prepared.elsewhere})
    if done["outcome"] == "completed":
        await work.repo("clean", {"taskId": task_id})
    return {"taskId": task_id, **done}
