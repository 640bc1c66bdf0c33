"""Submitting: a task's work passes its gates and asks to be merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.hooks.gate_reports import GATES
from hookline.pipeline.gating import NO_WORK, Gating

if TYPE_CHECKING:
    from hookline.domain.runs import Run
    from hookline.flows.context import Context


async def submit(ctx: Context, run: Run) -> Any:
    """The flow of a submission: gates, then the task is submitted and its merge begins."""
    gating = Gating(ctx, run)
    work = gating.work
    prepared = await gating.prepare()
    has_work = prepared.refused or prepared.commits
    refused = await gating.passes("before_submit") if has_work else NO_WORK
    if refused is NO_WORK:
        return await _without_commits(gating)
    if refused is not None:
        return await gating.send_back(refused)
    commits, pr_url = gating.prepared.commits, gating.context.get("pr_url")
    facts = {"commits": commits, "turns": gating.turns, "prUrl": pr_url}
    await gating.gate("submitted", facts)
    await gating.tell("after_submit")
    carried: dict[str, Any] = {"conversation": gating.conversation, "turns": gating.turns}
    context = {**gating.context, GATES: gating.reports}
    carried |= {"context": context, "submitted": gating.submitted}
    merge = await gating.gate("start_merge", carried)
    return {"outcome": "submitted", "taskId": work.task_id, "mergeRun": merge["runId"], **facts}


async def _without_commits(gating: Gating) -> Any:
    """Without work for gates to check, the task is completed, or sent back with a reason."""
    prepared = gating.prepared
    wanted = gating.settings.without_commits or prepared.without_commits or "complete"
    done = await gating.gate("without_commits", {"wanted": wanted, "elsewhere": prepared.elsewhere})
    if done["outcome"] == "completed":
        await gating.repo("clean", {"taskId": gating.work.task_id})
    return {"taskId": gating.work.task_id, **done}
