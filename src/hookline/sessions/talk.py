"""Talking to a session's agent and hooks: turns, recoveries and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.pages.taskpage import indented
from hookline.domain.runs.model import WAITS_FOR
from hookline.domain.sessions.model import SIGNAL
from hookline.domain.text.display import line_of
from hookline.domain.timestamps import doubled, seconds
from hookline.hooks.framing import said_once
from hookline.points import END, FAILURE, START, VALIDATION, points_at
from hookline.sessions.state import Chapter, PersonRequests, Turn
from hookline.sessions.told import prompts
from hookline.sessions.told.done_means import done_means, each_task, place, task_details

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.sessions.turns import ModelWait
    from hookline.flows.context import Context
    from hookline.sessions.requests import ChecksTold, FedOutput, HookOutput
    from hookline.sessions.told.prompts import ToldOnce

LONGEST_WAIT = 1800.0
SHOWN_OF_TURN = 200


class SessionTalk:
    """Talks to the agent and to hooks, for one chapter of a session."""

    def __init__(self, ctx: Context, chapter: Chapter, requests: PersonRequests) -> None:
        self._ctx, self._chapter = ctx, chapter
        self._given, self._plan, self._state = chapter.given, chapter.plan, chapter.state
        self._requests = requests
        self.waited = 0.0
        self.situation = ""

    async def turn(
        self,
        prompt: str,
        *,
        conversation: str | None = None,
        opening: str | None = None,
        id: str = "turn",
    ) -> Turn:
        """One turn of the agent; at a usage limit of its model, the session waits."""
        waits = 0
        everything = f"{opening}\n{prompt}" if opening else prompt
        while True:
            if self._requests.is_cut:
                return Turn(interrupted=True, by="person", conversation=conversation)
            found = await self._ctx.agent(
                prompt,
                agent=self._given.agent,
                id=id,
                conversation=conversation,
                opening=opening,
                session=self._chapter.identity,
                timeout=self._chapter.time_left(),
                check=False,
            )
            turn = typed.convert(found, Turn)
            self._requests.note_cut(found)
            self._chapter.note(turn)
            if turn.wait is None or turn.interrupted:
                return turn
            if await self._wait_for_model(turn.wait, waits):
                return msgspec.structs.replace(turn, interrupted=True, by="person")
            waits += 1
            if turn.tools or turn.text:  # it had begun: the agent continues where it stopped
                conversation, opening = turn.conversation, everything
                prompt = "The model was not available for a while. Continue where you stopped."

    async def _wait_for_model(self, wait: ModelWait, waits: int) -> bool:
        """Wait until the model is available; whether a person wants to stop meanwhile."""
        now = await self._ctx.now()
        pause = doubled(self._plan.model_wait, waits, LONGEST_WAIT)
        if wait.until is not None:
            pause = max(1.0, wait.until - seconds(now))
        await self.do("wait", reason=wait.reason, until=wait.until, seconds=pause)
        wish = await self._ctx.signal(SIGNAL, max_age=pause, metadata={WAITS_FOR: "the model"})
        over = await self.do("go_on")
        self.waited += seconds(over["now"]) - seconds(now)
        if wish is None:
            return False
        self._requests.hear(wish)
        return self._requests.asked_to is not None

    async def recover(self, turn: Turn, told: ToldOnce | None = None) -> Turn:
        """Tell hooks about a failed turn, and let the agent continue it; how that ended.

        `told` is what only the failed turn was told.
        """
        if turn.unpaid is not None:  # no hook can help
            return turn
        error = turn.failure or "failed"
        heard = await self.fire(FAILURE, {"error": error})
        if turn.problem is not None:  # it would fail again until a person has repaired that
            self.hold(heard["items"])
            return turn
        if not (heard["items"] or turn.interrupted):
            return turn
        told = told or prompts.ToldOnce()
        outputs, nonce = [*heard["items"], *told.outputs], heard["nonce"] or told.nonce
        recovery = await self.turn(
            prompts.recovery(error, told._replace(outputs=outputs, nonce=nonce)),
            conversation=turn.conversation,
            opening=self.opening(turn),
            id="recovery",
        )
        if recovery.failure:
            self.hold(heard["items"])
            found = {"error": turn.error or recovery.error, "problem": recovery.problem}
            return msgspec.structs.replace(turn, **found)
        return turn.continued_by(recovery)

    def hold(self, outputs: Sequence[HookOutput]) -> None:
        """Keep output for the next prompt: the agent may not have read all of it."""
        self._state.held = [*self._state.held, *outputs]

    def opening(self, turn: Turn) -> str:
        """What an agent that does not remember its turn is told first."""
        return prompts.opening(self.situation, "" if turn.failure else turn_line(turn))

    async def fire(
        self, stage: str, more: Mapping[str, Any] | None = None, step: str = ""
    ) -> FedOutput:
        """Fire the points of a stage; their hooks' output for the agent now."""
        heard: FedOutput = {"items": [], "nonce": ""}
        for point in points_at(stage):
            if point in self._plan.points and (stage == END or not self._requests.is_cut):
                payload = self._chapter.payload(more or {})
                found: FedOutput = await self._ctx.hook(point, payload, id=f"{point}{step}")
                self._requests.note_cut(found)
                heard = {**found, "items": [*heard["items"], *found["items"]]}
        if stage in (START, VALIDATION):  # no prompt follows there that could include it
            self.hold(heard["items"])
        return heard

    async def do(self, verb: str, *, id: str = "", **args: Any) -> Any:
        return await self._ctx.own("session", {**args, "verb": verb}, id=id or verb)

    async def ahead_of_parts(self) -> ChecksTold:
        """What will check the tasks of a plan that are done in their own sessions."""
        if self._given.branch is None:
            return {}
        asked = {"verb": "checks", "ofParts": True}
        found: ChecksTold = await self._ctx.own("repo", asked, id="plan-checks")
        return found

    async def ahead(self) -> ChecksTold:
        """What will check the work."""
        found: ChecksTold = await self._ctx.own("repo", {"verb": "checks"}, id="checks")
        return found

    def prompt(
        self, template: str, brief: Mapping[str, Any], ahead: ChecksTold, **told: str
    ) -> str:
        """A template filled with the session's status; `told` is what is said only once."""
        state, given = self._state, self._given
        details, apart = brief.get("details", {}), given.branch is not None
        values = {
            **dict.fromkeys(("hook_output", "messages", "next_prompt", "sent_back"), ""),
            "session": given.name,
            "iteration": str(state.iteration),
            "iterations": str(self._chapter.limits.iterations or "any number"),
            "goal": indented(given.goal),
            "task": f"{given.task_id}: {indented(given.goal)}",
            "task_id": given.task_id,
            "place": place(given),
            "ready_tasks": prompts.ready_tasks(brief.get("tasks"), apart=apart),
            **prompts.plan_words(apart=apart),
            "notes": prompts.notes(brief["notes"], brief["nonce"]) if "notes" in brief else "",
            "history": prompts.history(state.history),
            "role": self._plan.roles.get(given.agent or "", "").strip(),
            "details": task_details(details),
            "ahead": each_task(self._plan.rules if apart else (), ahead),
            "done": done_means(
                given,
                self._plan.rules,
                details,
                ahead,
                in_git=state.base is not None,
            ),
            **told,
        }
        return said_once(prompts.fill(template, values), brief.get("nonce", ""))


def turn_line(turn: Turn) -> str:
    """A turn in a line, for the turns after it."""
    if turn.failure:
        return f"it failed: {line_of(turn.failure, SHOWN_OF_TURN)}"
    files = len(turn.files_modified)
    changed = f"{files} file{'s' * (files > 1)} changed" if files else "no file changed"
    why = turn.recovered_from
    first = f"it failed at first ({line_of(why, SHOWN_OF_TURN)}); then " if why else ""
    said = [f'"{line_of(each, SHOWN_OF_TURN)}"' for each in _words(turn)]
    return f"{first}{changed}. You said: {', then: '.join(said) or 'nothing'}"


def said_in(turn: Turn) -> str:
    """What the agent said, in a line: in its turn, and in answer to the last delivery."""
    return "; then: ".join(line_of(each, SHOWN_OF_TURN) for each in _words(turn))


def _words(turn: Turn) -> list[str]:
    return [each for each in (turn.text, turn.last_words) if each.strip()]
