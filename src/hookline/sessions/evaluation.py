"""Whether a turn's work is done: validation, stop hooks, and what is delivered to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.sessions.promises import find_promises
from hookline.hooks.builtin.stop.context import help_asked_for
from hookline.points import JUDGED, VALIDATION
from hookline.sessions.state import Turn, TurnVerdict
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.flows.context import Context
    from hookline.sessions.chapter_ends import ChapterEnds
    from hookline.sessions.requests import Drained, HookOutput
    from hookline.sessions.state import Chapter, PersonRequests
    from hookline.sessions.talk import SessionTalk


class Evaluation:
    """Evaluates the turns of a chapter, and delivers to the agent what hooks say after them."""

    def __init__(
        self,
        ctx: Context,
        chapter: Chapter,
        requests: PersonRequests,
        talk: SessionTalk,
        ends: ChapterEnds,
    ) -> None:
        self._ctx, self._chapter = ctx, chapter
        self._plan, self._state = chapter.plan, chapter.state
        self._requests, self._talk, self._ends = requests, talk, ends

    async def evaluate(
        self, turn: Turn, step: str = "", checked: dict[str, Any] | None = None
    ) -> TurnVerdict:
        """Validation first, unless nothing changed since; then the stop hooks see its results."""
        files = {"filesModified": turn.files_modified}
        if checked is None:
            await self._ends.whole(lambda: self._talk.fire(VALIDATION, files, step))
            checked = await self._validated(turn, step)
        promises = msgspec.to_builtins([*find_promises(turn.text), *turn.promised])
        context = {
            "executionPhase": None,
            **files,
            "validationResults": checked["results"],
            "completionPromises": promises,
            "agentOutput": turn.text,
            "draftContent": None,
            "draftType": None,
            "work": self._chapter.own_work(checked.get("work")),
        }
        payload = self._chapter.payload(context)
        decision = await self._ends.whole(lambda: self._ctx.hook("stop", payload, id=f"stop{step}"))
        verdict = TurnVerdict(said=turn, checked=checked, decision=decision)
        asked_for = help_asked_for(payload) if verdict.is_complete else None
        return verdict.undone(asked_for, "escalate") if asked_for else verdict

    async def _validated(self, turn: Turn, step: str) -> dict[str, Any]:
        """What the rules say, and what changed if a stop hook looks at it."""
        if not (self._plan.rules or self._plan.evidence):
            return {"results": []}
        asked = {
            "rules": self._plan.rules,
            "output": turn.text,
            "base": self._state.base if self._plan.evidence else None,
            "session": self._chapter.identity,
        }
        name = f"validation{step}"
        found: dict[str, Any] = await self._ends.whole(
            lambda: self._ctx.own("validate", asked, id=name)
        )
        return found

    async def after(self, turn: Turn, verdict: TurnVerdict) -> TurnVerdict:
        """Fire the points after the stop hooks; urgent output reaches the agent at once."""
        files = {"filesModified": turn.files_modified}
        after = await self._ends.whole(lambda: self._talk.fire(JUDGED, files))
        if not after["items"]:
            return verdict
        return await self._deliver(turn, after["items"], after["nonce"], verdict, "delivery")

    async def deliver_finally(self, turn: Turn, verdict: TurnVerdict) -> TurnVerdict:
        """Tell the agent what is still held, and what people said if it is done. At most twice."""
        for round_ in ("", "-again"):
            is_done = verdict.is_complete  # else its next prompt tells it what people said
            if not (is_done or (verdict.goes_on and self._chapter.is_last)):
                break
            found: Drained = await self._talk.do("drain", id=f"drain{round_}", messages=is_done)
            held, self._state.held = [*self._state.held, *found["held"]], []
            if is_done:
                self._state.messages = [*self._state.messages, *found.get("messages", [])]
            said = self._state.messages if is_done else []
            if not held and not said:
                break
            step = f"final-delivery{round_}"
            verdict = await self._deliver(turn, held, found["nonce"], verdict, step, said)
            # What is held stays held.
            if self._requests.is_cut or self._requests.asked_to or turn.failure:
                break
        return verdict

    async def _deliver(
        self,
        turn: Turn,
        outputs: list[HookOutput],
        nonce: str,
        verdict: TurnVerdict,
        step: str,
        said: Sequence[str] = (),
    ) -> TurnVerdict:
        """Say something more in the same conversation; the answer is the agent's last word."""
        last = await self._talk.turn(
            prompts.delivery(outputs, nonce, said),
            conversation=turn.conversation,
            opening=self._talk.opening(turn),
            id=step,
        )
        if not last.failure:
            turn.last_words = last.text or turn.last_words
            self._state.messages = self._state.messages[len(said) :]
            return await self._reconsider(turn, last, verdict, step)
        self._talk.hold(outputs)
        if last.by == "person":
            return TurnVerdict()
        turn.error = last.failure
        last.conversation = last.conversation or turn.conversation
        why = f"a delivery to the agent failed: {last.failure}"
        recovered = await self._talk.recover(last)
        turn.problem = recovered.problem
        if not recovered.failure:
            turn.last_words = recovered.text or turn.last_words
            verdict = await self._reconsider(turn, recovered, verdict, "recovery")
        return verdict.undone(why)

    async def _reconsider(
        self, turn: Turn, last: Turn, verdict: TurnVerdict, step: str
    ) -> TurnVerdict:
        """Evaluate the answer to a delivery, if it promises or changes anything."""
        promises = bool(find_promises(last.text) or last.promised)
        is_changed = bool(last.files_modified) or last.fingerprint is None
        if not (promises or is_changed):
            return verdict
        turn.files_modified = sorted({*turn.files_modified, *last.files_modified})
        turn.fingerprint = last.fingerprint
        before = Turn() if promises else verdict.said
        said = Turn(
            text=f"{before.text}\n\n{last.text}".strip(),
            promised=[*before.promised, *last.promised],
            files_modified=turn.files_modified,
        )
        checked = None if is_changed else verdict.checked
        return await self.evaluate(said, f"-after-{step}", checked)
