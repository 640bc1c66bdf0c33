"""Merging: one at a time, on top of the newest base, tested before the base moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline import typed
from hookline.domain.work.forge import TOLD
from hookline.domain.work.submissions import FORGE, PEOPLE, TRUST, TURN, waiting_for
from hookline.hooks.gates.reports import BENEATH, LEAKED, runnable
from hookline.pipeline.fixes import Rejection
from hookline.pipeline.gate_payload import PointAnswer
from hookline.pipeline.gating import Gating
from hookline.pipeline.repository.requests import UNTRUSTED, WAITS, MergeResult

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context

MERGE_STEP = "merge"
# How often the queue is checked without a signal that it moved: soon, then less and less often.
LOOK_AGAIN, LATEST_LOOK = 5.0, 30.0
# How often a forge is asked whether people have merged; a worker does not wait that long.
ASK_PEOPLE = 120.0


async def merge(ctx: Context, run: Run) -> Any:
    """The flow of a merge: gates, the queue, then rebase, test and merge."""
    return await _Merging(ctx, run).go()


class _Merging:
    """One task's work on its way into the base branch."""

    def __init__(self, ctx: Context, run: Run) -> None:
        self._ctx = ctx
        self._gates = Gating(ctx, run, self._let_others_go)
        self._work, self._fixes = self._gates.work, self._gates.fixes

    async def go(self) -> Any:
        """Run until the work is merged, or is sent back with a reason."""
        if self._work.settings.merge == PEOPLE:
            return await self._leave_to_people()
        while True:
            refused = await self._gates.passes("before_merge")
            merged: MergeResult | None = None
            if refused is None:
                await self._wait_turn()
                merged = await self._ask("merge")
                if merged.status in (UNTRUSTED, WAITS):
                    merged = await self._wait_out(merged)
                    if merged is None:
                        continue
                refused = await self._merged_or_fixed(merged)
            if refused is not None:
                return await self._gates.send_back(refused)
            if merged is not None and merged.status == "merged":
                return await self._finish(merged)

    async def _leave_to_people(self) -> Any:
        """Ask the gates, then poll the forge until someone has merged."""
        judged: str | None = None
        while True:
            found = await self._ask("ask_people", judged=judged)
            if found.status == "merged":
                return await self._finish(found)
            refused = Rejection(found.message) if found.status == "refused" else None
            if found.status == "failed":
                self._hear_people(found)
                refused = await self._fixes.fix(MERGE_STEP, found.remediation_prompt, found.message)
                found.head = None
            if refused is None and found.head == judged:
                await self._ctx.signal(PEOPLE, max_age=ASK_PEOPLE, metadata=waiting_for(PEOPLE))
                continue
            refused = refused or await self._gates.passes("before_merge")
            if refused is not None:
                return await self._gates.send_back(refused)
            judged = self._work.prepared.head

    async def _wait_turn(self) -> None:
        pause = LOOK_AGAIN
        while not (await self._work.gate("queue", {}))["mine"]:
            await self._ctx.signal(TURN, max_age=pause, metadata=waiting_for(TURN))
            pause = min(2 * pause, LATEST_LOOK)

    async def _let_others_go(self) -> None:
        await self._work.gate("leave_queue", {})

    async def _ask(self, verb: str, **more: str | None) -> MergeResult:
        gates, work = self._gates, self._work
        asked = {
            **work.place(),
            "method": work.settings.method,
            "test": work.settings.test,
            "head": gates.judged,
            "pullRequest": gates.context.get("pr_number"),
            "skipPr": work.submission.skip_pr,
            "heads": work.heads,
            TOLD: gates.told,
            **more,
        }
        found = typed.convert(await work.repo(verb, asked), MergeResult)
        self._fixes.ahead = found.ahead or self._fixes.ahead
        return found

    async def _wait_out(self, merged: MergeResult) -> MergeResult | None:
        """Wait for people's trust and for the forge; None if it is other work then.

        Others merge meanwhile, but only once while checks run: these start again after every merge,
        and fast work would keep slow work out forever.
        """
        checked: set[str | None] = set()
        while merged.status in (UNTRUSTED, WAITS):
            waits_for = merged.waits_for
            if waits_for == "checks":
                checked.add(merged.head)
            if waits_for and (refused := await self._gates.waited_too_long(_as_answer(merged))):
                return MergeResult(status="refused", message=refused.reason)
            if waits_for != "checks" or len(checked) == 1:
                await self._let_others_go()
            if waits_for:
                await self._ctx.signal(
                    FORGE, max_age=merged.retry_after, metadata=waiting_for(FORGE)
                )
            else:
                await self._ctx.signal(TRUST, metadata=waiting_for(TRUST))
            if (await self._work.prepare()).head != merged.head:
                return None
            await self._wait_turn()
            merged = await self._ask("merge")
        return merged

    async def _merged_or_fixed(self, merged: MergeResult) -> Rejection | None:
        """Let the agent fix work that did not merge.

        Others merge meanwhile, but only once: work that then does not fit again keeps its turn
        until it does; otherwise fast work would keep slow work out forever.
        """
        if merged.status == "merged":
            await self._let_others_go()
            return None
        if not self._fixes.tries.get(MERGE_STEP):
            await self._let_others_go()
        if merged.status == "changed":
            return self._fixes.changed()
        self._hear_people(merged)
        if merged.command and (line := runnable(merged.command, {})):
            self._fixes.commands = [*self._fixes.commands, line]
        prompt, conflicts = merged.remediation_prompt, merged.onto is not None
        return await self._fixes.fix(MERGE_STEP, prompt, merged.message, conflicts=conflicts)

    def _hear_people(self, found: MergeResult) -> None:
        """A new request of people does not count as a failed attempt to fix an earlier one."""
        if told := found.told:
            if told.keys() - self._gates.told.keys():
                self._fixes.tries.pop(MERGE_STEP, None)
            self._gates.note_told(told)

    async def _finish(self, merged: MergeResult) -> Any:
        gates, work = self._gates, self._work.submission
        facts: dict[str, Any] = {"sha": merged.sha, "commits": merged.commits}
        facts |= {"turns": self._fixes.turns}
        facts |= {"untested": merged.untested, **({"unjudged": True} if merged.unjudged else {})}
        facts |= {BENEATH: merged.beneath} if merged.beneath else {}
        await self._work.gate("merged", facts)
        await gates.tell("after_merge")
        unwanted = self._work.settings.delete_branch and not work.skip_pr
        place = {"worktree": work.worktree, "branch": work.branch}
        clean = {"taskId": work.task_id, **place, "removePushed": unwanted}
        kept = await self._work.repo("clean", clean)
        leaked = gates.context.get(LEAKED)
        facts |= {LEAKED: leaked} if isinstance(leaked, list) else {}
        return {"outcome": "merged", "taskId": work.task_id, **facts, "worktree": kept}


def _as_answer(merged: MergeResult) -> PointAnswer:
    """A waiting merge as the answer of a waiting gate."""
    context = {"waitsFor": merged.waits_for}
    return PointAnswer(status="pending", hook=MERGE_STEP, message=merged.message, context=context)
