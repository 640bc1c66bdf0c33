"""Merging: one at a time, on top of the newest base, tested before it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.forge import TOLD
from hookline.domain.submissions import FORGE, PEOPLE, TRUST
from hookline.flows.gating import Gating, Refused
from hookline.flows.merge_trust import UNTRUSTED, WAITS

if TYPE_CHECKING:
    from hookline.domain.runs import Run
    from hookline.flows.context import Context

TURN = "merge-turn"
MERGE_STEP = "merge"
# The queue is looked at where nobody tells that it moved: soon, then more and more seldom.
LOOK_AGAIN, LATEST_LOOK = 5.0, 30.0
# So often a forge is asked whether people have merged; a worker does not stay for that long.
ASK_PEOPLE = 120.0


async def merge(ctx: Context, run: Run) -> Any:
    """The flow of a merge: gates, the queue, then rebase, test and merge."""
    return await _Merging(ctx, run).go()


class _Merging(Gating):
    """One task's work on its way into the base branch."""

    async def go(self) -> Any:
        """Until the work is merged, or goes back with a reason."""
        if self.settings.merge == PEOPLE:
            return await self._leave_to_people()
        while True:
            refused = await self.passes("before_merge")
            merged: Any = None
            if refused is None:
                await self._wait_turn()
                merged = await self._merge()
                if merged["status"] in (UNTRUSTED, WAITS):
                    merged = await self._wait_out(merged)
                    if merged is None:
                        continue
                refused = await self._judge(merged)
            if refused is not None:
                return await self.send_back(refused)
            if merged["status"] == "merged":
                return await self._finish(merged)

    async def _leave_to_people(self) -> Any:
        """Ask the gates, then ask the forge again and again whether somebody has merged."""
        judged: str | None = None
        while True:
            found = await self.ctx.repo("ask_people", {**self._merge_args(), "judged": judged})
            if found["status"] == "merged":
                return await self._finish(found)
            refused = Refused(found["message"]) if found["status"] == "refused" else None
            if found["status"] == "failed":
                self._hear_people(found)
                prompt = found.get("remediationPrompt")
                refused = await self.fix(MERGE_STEP, prompt, found["message"])
                found = {**found, "head": None}
            if refused is None and found["head"] == judged:
                await self.ctx.signal(PEOPLE, max_age=ASK_PEOPLE)
                continue
            refused = refused or await self.passes("before_merge")
            if refused is not None:
                return await self.send_back(refused)
            judged = self.prepared.get("head")

    async def _wait_turn(self) -> None:
        pause = LOOK_AGAIN
        while not (await self.ctx.gate("queue", {}))["mine"]:
            await self.ctx.signal(TURN, max_age=pause)
            pause = min(2 * pause, LATEST_LOOK)

    async def _let_others_go(self) -> None:
        await self.ctx.gate("leave_queue", {})

    async def _merge(self) -> Any:
        return await self.ctx.repo("merge", self._merge_args())

    def _merge_args(self) -> dict[str, Any]:
        return {
            **self._place(),
            "method": self.settings.method,
            "test": self.settings.test,
            "head": self.judged,
            "pullRequest": self.context.get("pr_number"),
            "skipPr": self.work.skip_pr,
            "heads": self.heads,
            TOLD: self.told,
        }

    async def _wait_out(self, merged: Any) -> Any:
        """Wait for people's trust and for the forge; None if it is other work then.

        Others merge meanwhile, but only once while checks run: these begin anew after every merge,
        and the fastest would keep the slow ones out for ever.
        """
        checked: set[str | None] = set()
        while merged["status"] in (UNTRUSTED, WAITS):
            waits_for = merged.get("waitsFor")
            if waits_for == "checks":
                checked.add(merged["head"])
            if waits_for and (refused := await self._waited_too_long(_as_answer(merged))):
                return {"status": "refused", "message": refused.reason}
            if waits_for != "checks" or len(checked) == 1:
                await self._let_others_go()
            if waits_for:
                await self.ctx.signal(FORGE, max_age=merged["retryAfter"])
            else:
                await self.ctx.signal(TRUST)
            if (await self.prepare())["head"] != merged["head"]:
                return None
            await self._wait_turn()
            merged = await self._merge()
        return merged

    async def _judge(self, merged: Any) -> Refused | None:
        """What did not merge goes back to the agent.

        Others merge meanwhile, but only once: work that then does not fit again keeps its turn
        until it does, or the fastest would keep the slow ones out for ever.
        """
        if merged["status"] == "merged":
            await self._let_others_go()
            return None
        if not self.tries.get(MERGE_STEP):
            await self._let_others_go()
        if merged["status"] == "changed":
            return self.changed()
        self._hear_people(merged)
        if line := merged.get("command"):
            self.commands = [*self.commands, line]
        prompt, conflicts = merged.get("remediationPrompt"), "onto" in merged
        return await self.fix(MERGE_STEP, prompt, merged["message"], conflicts=conflicts)

    def _hear_people(self, found: Any) -> None:
        """What people ask for anew is no failed try to fix what they asked for before."""
        if told := found.get(TOLD):
            if told.keys() - self.told.keys():
                self.tries.pop(MERGE_STEP, None)
            self._note_told(told)

    async def _finish(self, merged: Any) -> Any:
        facts = {"sha": merged["sha"], "commits": merged["commits"], "turns": self.turns}
        facts["untested"] = merged.get("untested")
        if merged.get("unjudged"):
            facts["unjudged"] = True
        await self.ctx.gate("merged", facts)
        await self.tell("after_merge")
        unwanted = self.settings.delete_branch and not self.work.skip_pr
        place = {"worktree": self.work.worktree, "branch": self.work.branch}
        clean = {"taskId": self.work.task_id, **place, "removePushed": unwanted}
        kept = await self.ctx.repo("clean", clean)
        return {"outcome": "merged", "taskId": self.work.task_id, **facts, "worktree": kept}


def _as_answer(merged: Any) -> dict[str, Any]:
    """A merge that waits, as a gate that waits says it."""
    context = {"waitsFor": merged["waitsFor"]}
    return {"hook": MERGE_STEP, "message": merged["message"], "context": context}
