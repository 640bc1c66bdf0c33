"""Submitting: a task's work passes its gates and asks to be merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.flows.gating import NO_WORK, Gating
from hookline.hooks.gate_reports import GATES

if TYPE_CHECKING:
    from hookline.domain.runs import Run
    from hookline.flows.context import Context


async def submit(ctx: Context, run: Run) -> Any:
    """The flow of a submission: gates, then the task is submitted and its merge begins."""
    gating = Gating(ctx, run)
    work = gating.work
    prepared = await gating.prepare()
    has_work = prepared.get("refused") or prepared["commits"]
    refused = await gating.passes("before_submit") if has_work else NO_WORK
    if refused is NO_WORK:
        return await _without_commits(gating)
    if refused is not None:
        return await gating.send_back(refused)
    facts = {
        "commits": gating.prepared["commits"],
        "turns": gating.turns,
        "prUrl": gating.context.get("pr_url"),
    }
    await ctx.gate("submitted", facts)
    await gating.tell("after_submit")
    carried: dict[str, Any] = {"conversation": gating.conversation, "turns": gating.turns}
    context = {**gating.context, GATES: gating.reports}
    carried |= {"context": context, "submitted": gating.submitted}
    merge = await ctx.gate("start_merge", carried)
    return {"outcome": "submitted", "taskId": work.task_id, "mergeRun": merge["runId"], **facts}


async def _without_commits(gating: Gating) -> Any:
    """Nothing is there for gates to judge: the task is completed, or sent back with a reason."""
    ctx, prepared = gating.ctx, gating.prepared
    wanted = gating.settings.without_commits or prepared.get("withoutCommits", "complete")
    seen = prepared.get("elsewhere")
    done = await ctx.gate("without_commits", {"wanted": wanted, "elsewhere": seen})
    if done["outcome"] == "completed":
        await ctx.repo("clean", {"taskId": gating.work.task_id})
    return {"taskId": gating.work.task_id, **done}
