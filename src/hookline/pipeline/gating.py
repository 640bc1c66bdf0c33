"""Passing the gates of a point: the agent fixes what one rejects, until all pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.hooks.names import short_name
from hookline.domain.timestamps import seconds
from hookline.domain.work.forge import TOLD
from hookline.domain.work.submissions import AGENT, BUDGET, CONFLICT, SIGNAL
from hookline.hooks.gates.reports import ATTEMPTS, GATES, REVIEW
from hookline.pipeline.fixes import Fixes, Rejection
from hookline.pipeline.gate_payload import PointAnswer, gate_payload
from hookline.pipeline.gated_work import BEFORE_MERGE, BEFORE_SUBMIT, WORKTREE, GatedWork
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context
    from hookline.pipeline.repository.requests import PreparedWork

# Goes up when submitting and merging ask for other effects, in another order, or with other texts:
# the prompts are part of what they ask for.
CODE_VERSION = "14"
# Gates that wait are asked again after this time at the latest.
LOOK_AGAIN = 60.0

# There never was a commit to check; gates do not decide what happens to the task then.
NO_WORK = Rejection("there is no commit to submit")


class Gating:
    """The gates of one run, for one task's work."""

    def __init__(
        self, ctx: Context, run: Run, leave_queue: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._ctx = ctx
        self.work = GatedWork(ctx, run, leave_queue)
        self.fixes = Fixes(self.work)
        self._approvals: list[dict[str, Any]] = []
        self.context: dict[str, Any] = dict(run.pins.get("context", {}))
        # The verdicts so far.
        self.reports: list[dict[str, Any]] = list(self.context.get(GATES, ()))
        self._waiting: dict[str, float] = {}
        # The commits that passed the last point, and before_submit.
        self.judged: str | None = None
        self.submitted: str | None = run.pins.get("submitted")
        # At which head the agent was told about a review.
        self.told: dict[str, str] = dict(self.context.get(TOLD, {}))

    async def passes(self, point: str) -> Rejection | None:
        """Ask the gates of a point until they pass; None, or why the work is rejected.

        Work that changed since it was submitted passes the gates of before_submit again first.
        """
        passed: list[str] = []
        judged: str | None = None
        while True:
            prepared = await self.work.prepare()
            if prepared.refused:
                if (refused := await self._clear(prepared)) is not None:
                    return refused
                continue
            if not prepared.commits and (refused := self._without_commits(point)) is not None:
                return refused
            is_other = prepared.head != self.submitted
            if point == BEFORE_MERGE and prepared.commits and is_other:
                if (refused := await self.passes(BEFORE_SUBMIT)) is not None:
                    return refused
                continue
            if prepared.head != judged:
                passed = []  # they passed other work
            # The other verdicts of this point were about other work.
            self.reports = [
                each for each in self.reports if each["point"] != point or each["hook"] in passed
            ]
            said = await self._ctx.hook(point, self._payload(prepared), skip=passed)
            answer = typed.convert(said, PointAnswer)
            self._hear(point, answer)
            if answer.status != "failure":
                asked, judged = prepared.head, (await self.work.prepare()).head
                outdated = answer.outdated(asked, judged)
                if outdated is None:
                    judged = None
                    if (refused := self.fixes.changed()) is not None:
                        return refused
                    continue
                passed = [name for name in answer.passed if name not in outdated]
                if answer.status == "pending":
                    if refused := await self.waited_too_long(answer):
                        return refused
                    await self._wait(answer, judged)
                elif not outdated:
                    self._note_judged(point, asked, judged)
                    return None
                continue
            judged = None
            refused = await self.fixes.fix(
                *(answer.hook or point, answer.remediation_prompt, answer.message),
                conflicts=bool(answer.context.get(CONFLICT)),
                review=answer.context.get(REVIEW),
            )
            if refused is not None:
                return refused

    def _hear(self, point: str, answer: PointAnswer) -> None:
        """Keep what gates said, for later gates and for the agent that fixes the work."""
        self.context |= answer.context
        if isinstance(told := answer.context.get(TOLD), dict):
            self.note_told(told)
        self.reports += ({**each, "point": point} for each in answer.gates)
        self.fixes.ahead = answer.ahead or self.fixes.ahead

    def note_told(self, told: dict[str, str]) -> None:
        """Keep which reviews of people the agent was told about, for later gates as well."""
        self.context[TOLD] = self.told = {**self.told, **told}

    def _note_judged(self, point: str, asked: str | None, judged: str | None) -> None:
        """All gates of a point have passed exactly this commit."""
        self.judged = judged
        if point == BEFORE_SUBMIT or self.submitted == asked:
            self.submitted = judged

    async def tell(self, point: str) -> None:
        """Fire a point whose hooks no longer decide anything; their answers are recorded."""
        await self._ctx.hook(point, {**self._payload(self.work.prepared), **self.work.compared})

    async def _clear(self, prepared: PreparedWork) -> Rejection | None:
        """Let the agent fix a worktree in which nothing can be committed."""
        message, prompt = prepared.refused or "", prepared.remediation_prompt
        self.fixes.ahead = prepared.ahead
        if prompt:
            name = self.work.conflict or WORKTREE
            return await self.fixes.fix(name, prompt, message, conflicts=prepared.conflicts)
        return self.fixes.refused(message, WORKTREE, message)

    def _without_commits(self, point: str) -> Rejection | None:
        """Why work without a commit does not pass a point.

        Gates have nothing to say about it. When a merge begins, a person may have merged it.
        """
        if self.work.had_commits or self.work.prepared.lost:
            seen = self.work.prepared.elsewhere
            reason = f"no commit is left of the work{f': {seen}' if seen else ''}"
            return self.fixes.refused(reason, WORKTREE, reason)
        return NO_WORK if point == "before_submit" else None

    async def send_back(self, refused: Rejection) -> dict[str, str]:
        """Send the work back, with what its next session should know."""
        if self.work.conflict is not None:
            kept = await self.work.drop_conflict()
            output = prompts.capped(self.work.unresolved or refused.output or "")
            note = (
                f"\n\nEarlier edits for it are in the git ref {prompts.code(kept)}: "
                "reuse them if they help."
                if kept
                else ""
            )
            refused = msgspec.structs.replace(refused, output=f"{output}{note}")
        found = msgspec.to_builtins(refused)
        await self.work.gate("send_back", {**found, "turns": self.fixes.turns})
        task_id = self.work.submission.task_id
        return {"outcome": "sent_back", "taskId": task_id, "reason": refused.reason}

    async def waited_too_long(self, answer: PointAnswer) -> Rejection | None:
        """Why work that waits for a gate which no person decides is sent back."""
        name, message = answer.hook or "a gate", answer.message
        if answer.context.get("waitsFor") in ("person", BUDGET, AGENT):
            return None
        now = seconds(await self._ctx.now())
        if name not in self._waiting:
            self._waiting = {name: now}  # the others no longer wait
        if now - self._waiting[name] < self.work.settings.max_wait:
            return None
        long = f"it waits for longer than {self.work.settings.max_wait:g} s (`gates.max_wait`)"
        return self.fixes.refused(f"{short_name(name)}: {long}: {message}", name, message)

    async def _wait(self, answer: PointAnswer, head: str | None) -> None:
        """Wait for a person's decision, or until it is worth asking again."""
        wanted = answer.context.get("waitsFor")
        if wanted in (BUDGET, AGENT):
            await self.work.wait_for(wanted)
            return
        person = wanted == "person"
        pause = None if person else answer.retry_after or LOOK_AGAIN
        wish = await self.work.wait_for(SIGNAL, max_age=pause)
        if isinstance(wish, dict):
            about = answer.context.get("asksAbout") or head
            self._approvals = [*self._approvals, {**wish, "hook": answer.hook, "head": about}]

    def _payload(self, prepared: PreparedWork) -> dict[str, Any]:
        """The work that a gate checks."""
        # What gates said comes first: none of them speaks for a person, or calls this a trial.
        extra = {**self.context, "approvals": self._approvals, "trial": False}
        extra |= {GATES: self.reports, ATTEMPTS: self.fixes.attempts}
        goal, path = prepared.goal, prepared.task_path
        return gate_payload(self.work.submission, goal, path, prepared.commits, extra)
