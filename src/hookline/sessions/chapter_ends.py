"""How a chapter of a session ends: with the session, in a rest, or in the next chapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from hookline.domain.runs.model import WAITS_FOR
from hookline.domain.sessions import model as sessions
from hookline.domain.timestamps import seconds
from hookline.points import END
from hookline.sessions.requests import Ending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.sessions.turns import AgentProblem, Unpaid
    from hookline.flows.context import Context
    from hookline.sessions.state import Chapter, PersonRequests
    from hookline.sessions.talk import SessionTalk

BY_PERSON = "a person stopped it"
_RESUMED = {WAITS_FOR: "you to resume it"}


class ChapterEnds:
    """Ends a chapter of a session, or lets it rest."""

    def __init__(
        self, ctx: Context, chapter: Chapter, requests: PersonRequests, talk: SessionTalk
    ) -> None:
        self._ctx, self._chapter, self._state = ctx, chapter, chapter.state
        self._requests, self._talk = requests, talk
        # Whether the iteration has been made.
        self.is_over = False

    async def obey(self) -> Any:
        """A person wants to stop or to pause."""
        if self._requests.asked_to == "pause":
            await self._talk.do("wait", paused=True, used=self._chapter.used)
            await self._await_resume()
            await self._talk.do("go_on")
            self.next_chapter()
        return await self.end(sessions.STOPPED, self._requests.stopped_by or BY_PERSON)

    async def end(self, outcome: str, reason: str, message: str = "", **more: Any) -> Any:
        """End the session, or suspend it: then its next chapter begins when it resumes.

        `more` is what else its ending says.
        """
        ended = await self._conclude(outcome, reason, message, **more)
        if not ended["resumable"]:
            return ended
        await self.rest()
        return self.next_chapter()

    async def end_unpaid(self, unpaid: Unpaid) -> Any:
        """End without money for a turn: what a worker has not, another may have."""
        if unpaid.limit is None:
            return await self.end(sessions.STOPPED, unpaid.message)
        return await self.end(sessions.LIMIT, unpaid.limit, unpaid.message)

    async def end_unable(self, problem: AgentProblem) -> Any:
        """End because the agent cannot work; the iteration is made once that is repaired."""
        why, told = problem.message, msgspec.to_builtins(problem)
        return await self.end(sessions.ESCALATED, why, problem.told, problem=told)

    async def whole(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The result of a step. One that a person interrupted is made again, as after a kill."""
        while (found := await ask()).get("by") == "person":
            heard = await self._talk.do("hear")
            self._requests.note(heard)
            await self._conclude(sessions.STOPPED, self._requests.stopped_by or BY_PERSON)
            self._talk.waited += seconds(await self.rest()) - seconds(heard["now"])
        return found

    async def _conclude(self, outcome: str, reason: str, message: str = "", **more: Any) -> Ending:
        """Every ending comes here. All but a completed or failed session can be resumed."""
        state = self._state
        ended = Ending(
            session=self._chapter.given.name,
            outcome=outcome,
            reason=reason,
            message=message or reason,
            iterations=state.progress.iterations,
            turns=state.turns,
            conversation=state.conversation,
            resumable=outcome not in (sessions.COMPLETED, sessions.FAILED),
        )
        ended.update(more)  # type: ignore[typeddict-item]  # keys of it, by their names
        await self._talk.fire(END, ended)
        told = {**ended, "used": self._chapter.used}
        done = await self._talk.do("end", ended=told, unheard=len(state.messages))
        state.turns = 0  # the task has them now
        return {**ended, **done.get("instead", {})}

    async def rest(self) -> str:
        """Wait until a person resumes the session, and claim its task again; the time."""
        await self._await_resume()
        while (again := await self._talk.do("go_on", again=True))["lost"]:
            await self._ctx.log(f"cannot continue: {again['lost']}")
            await self._await_resume()
        self._requests.is_cut = False
        return str(again["now"])

    def next_chapter(self) -> NoReturn:
        """The next chapter, with the next iteration if this one is over."""
        self._state.iteration += self.is_over
        self._ctx.next(msgspec.to_builtins(self._state))

    async def _await_resume(self) -> None:
        while True:
            wish = await self._ctx.signal(sessions.SIGNAL, metadata=_RESUMED)
            if wish["verb"] == "resume":
                self._state.limits |= wish.get("limits") or {}
                # Earlier requests are done, or no longer wanted.
                self._requests.asked_to, self._requests.stopped_by = None, None
                return
            self._requests.hear(wish)
