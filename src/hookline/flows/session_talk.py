"""Talking to the agent of a session: its turns, its hooks, and what each is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.limits import Limits
from hookline.domain.moments import seconds
from hookline.domain.sessions import SIGNAL, Charge
from hookline.domain.taskpage import indented
from hookline.flows import prompts
from hookline.flows.done_means import done_means, task_details
from hookline.flows.session_state import LEASE_MARGIN, Plan, State, Turn

if TYPE_CHECKING:
    from hookline.flows.context import Context

LONGEST_WAIT = 1800.0
SHOWN_OF_TURN = 200


class Talk:
    """One chapter of a session, as far as it talks to the agent and to hooks."""

    def __init__(self, ctx: Context, charge: Charge, plan: Plan, state: State | None) -> None:
        self._ctx = ctx
        self._charge = charge
        self._plan = plan
        self._is_new = state is None
        plans = charge.plan or (plan.plan and not charge.part)
        self._state = state or State(iteration=0 if plans else 1)
        self._waited = 0.0
        self._asked_to: str | None = None
        self._stopped_by: str | None = None
        self._is_over = False
        self._is_cut = False
        self._situation = ""

    async def _turn(
        self,
        prompt: str,
        *,
        conversation: str | None = None,
        opening: str | None = None,
        id: str = "turn",
    ) -> Turn:
        """One turn of the agent; while its model takes no more, the session waits."""
        waits = 0
        everything = f"{opening}\n{prompt}" if opening else prompt
        while True:
            if self._is_cut:
                return Turn(interrupted=True, by="person", conversation=conversation)
            found = await self._ctx.agent(
                prompt,
                agent=self._charge.agent,
                id=id,
                conversation=conversation,
                opening=opening,
                session=self._identity,
                timeout=self._time_left(),
                check=False,
            )
            turn = msgspec.convert(found, Turn)
            self._note_cut(found)
            self._count(turn)
            if turn.wait is None or turn.interrupted:
                return turn
            if await self._wait_for_model(turn.wait, waits):
                return msgspec.structs.replace(turn, interrupted=True, by="person")
            waits += 1
            if turn.tools or turn.text:  # it had begun: the agent goes on where it stopped
                conversation, opening = turn.conversation, everything
                prompt = "The model was not available for a while. Go on where you stopped."

    def _count(self, turn: Turn) -> None:
        self._state.turns += turn.begun

    async def _wait_for_model(self, wait: dict[str, Any], waits: int) -> bool:
        """Wait until the model takes more; whether a person wants to stop meanwhile."""
        now = await self._ctx.now()
        pause = min(self._plan.model_wait * 2**waits, LONGEST_WAIT)
        if wait.get("until") is not None:
            pause = max(1.0, wait["until"] - seconds(now))
        reason = "usage limit" if wait["kind"] == "usage_limit" else "model overloaded"
        await self._do("wait", reason=reason, until=wait.get("until"), seconds=pause)
        wish = await self._ctx.signal(SIGNAL, max_age=pause)
        over = await self._do("go_on")
        self._waited += seconds(over["now"]) - seconds(now)
        if wish is None:
            return False
        self._hear(wish)
        return self._asked_to is not None

    async def _recover(self, turn: Turn, told_before: str = "") -> Turn:
        """Let hooks hear of a failed turn, and the agent continue it; how it ended at last.

        `told_before` is what the failed turn was told and no later one will be.
        """
        error = turn.failure or "failed"
        heard = await self._fire("on_error", {"error": error})
        if not (heard["items"] or turn.interrupted):
            return turn
        recovery = await self._turn(
            prompts.recovery(error, heard["items"], heard["nonce"], told_before),
            conversation=turn.conversation,
            opening=self._opening(turn),
            id="recovery",
        )
        if recovery.failure:
            self._hold(heard["items"])
            return turn
        return turn.continued_by(recovery)

    def _hold(self, outputs: list[dict[str, Any]]) -> None:
        """Keep output for the next prompt: nobody knows how much of it the agent has read."""
        self._state.held = [*self._state.held, *outputs]

    def _opening(self, turn: Turn) -> str:
        """What an agent is told first that does not remember its turn."""
        return prompts.opening(self._situation, "" if turn.failure else line_of(turn))

    async def _fire(self, point: str, more: dict[str, Any] | None = None) -> Any:
        """Fire a point of the session; what its hooks have for the agent now."""
        if point not in self._plan.points or (self._is_cut and point != "session_end"):
            return {"items": [], "nonce": ""}
        found = await self._ctx.hook(point, self._payload(more or {}))
        self._note_cut(found)
        return found

    def _payload(self, more: dict[str, Any]) -> dict[str, Any]:
        base = {
            "session": self._charge.name,
            "iteration": self._state.iteration,
            "agent": self._charge.agent,
            "taskId": self._charge.task_id,
            "taskContent": self._charge.goal,
        }
        if self._charge.worktree is not None:
            base["worktree"] = self._charge.worktree
        return {**base, **more}

    @property
    def _identity(self) -> dict[str, Any]:
        return {
            "name": self._charge.name,
            "iteration": self._state.iteration,
            "task": self._charge.task_id,
        }

    async def _do(self, verb: str, *, id: str = "", **args: Any) -> Any:
        return await self._ctx.session(verb, args, id=id or verb)

    def _note_cut(self, found: dict[str, Any]) -> None:
        """A person who cuts something short wants nothing else to begin in this iteration."""
        self._is_cut = self._is_cut or found.get("by") == "person"

    def _note_wishes(self, found: dict[str, Any]) -> None:
        self._state.messages = [*self._state.messages, *found["messages"]]
        self._asked_to = found["wants"] or self._asked_to
        self._stopped_by = found.get("why") or self._stopped_by
        self._state.limits |= found.get("limits") or {}

    def _hear(self, wish: dict[str, Any]) -> None:
        if wish["verb"] == "message":
            self._state.messages = [*self._state.messages, wish["text"]]
        elif wish["verb"] in ("stop", "pause"):
            self._asked_to = wish["verb"]
            self._stopped_by = wish.get("reason") or self._stopped_by
        elif wish["verb"] == "resume":
            self._state.limits |= wish.get("limits") or {}

    @property
    def _limits(self) -> Limits:
        given = {**self._plan.limits, **self._charge.limits, **self._state.limits}
        return msgspec.convert(given, Limits)

    @property
    def _template(self) -> str:
        own = self._plan.template
        if own is not None:
            return prompts.completed(own)
        return prompts.DEFAULT_LAST if self._is_last else prompts.DEFAULT

    @property
    def _lease(self) -> float:
        return self._plan.turn_timeout + LEASE_MARGIN

    @property
    def _is_last(self) -> bool:
        """Whether the iteration limit is reached with this iteration."""
        most = self._limits.iterations
        return bool(most) and self._state.progress.iterations + 1 >= (most or 0)

    def _time_left(self) -> float:
        minutes = self._limits.minutes
        if not minutes:
            return self._plan.turn_timeout
        left = (minutes - self._state.progress.minutes) * 60
        return max(1.0, min(self._plan.turn_timeout, left))

    async def _ahead(self) -> dict[str, Any]:
        """What will check the work; nothing is looked for where nothing can be found."""
        if self._charge.branch is None and not self._plan.own_stop:
            return {}
        return dict(await self._ctx.repo("checks", {}))

    def _prompt(
        self, template: str, brief: dict[str, Any], ahead: dict[str, Any], **told: str
    ) -> str:
        """A template with where the session stands; `told` is what is said only once."""
        state, charge = self._state, self._charge
        details = brief.get("details", {})
        values = {
            "hook_output": "",
            "messages": "",
            "next_prompt": "",
            "sent_back": "",
            "session": charge.name,
            "iteration": str(state.iteration),
            "iterations": str(self._limits.iterations or "any number"),
            "goal": indented(charge.goal),
            "task": f"{charge.task_id}: {indented(charge.goal)}",
            "task_id": charge.task_id,
            "ready_tasks": prompts.ready_tasks(brief["tasks"]) if "tasks" in brief else "",
            "notes": prompts.notes(brief["notes"], brief["nonce"]) if "notes" in brief else "",
            "history": prompts.history(state.history),
            "role": self._plan.roles.get(charge.agent or "", ""),
            "details": task_details(details),
            "done": done_means(charge, self._plan.rules, details, ahead, is_last=self._is_last),
            **told,
        }
        return prompts.fill(template, values)


def line_of(turn: Turn) -> str:
    """A turn in a line, for the turns after it."""
    if turn.failure:
        return f"it failed: {prompts.one_line(turn.failure, SHOWN_OF_TURN)}"
    files = len(turn.files_modified)
    changed = f"{files} file{'s' * (files > 1)} changed" if files else "no file changed"
    why = turn.recovered_from
    first = f"it failed at first ({prompts.one_line(why, SHOWN_OF_TURN)}); then " if why else ""
    said = [f'"{prompts.one_line(each, SHOWN_OF_TURN)}"' for each in _words(turn)]
    return f"{first}{changed}. You said: {', then: '.join(said) or 'nothing'}"


def said_in(turn: Turn) -> str:
    """What the agent said, in a line: in its turn, and in answer to the last delivery."""
    return "; then: ".join(prompts.one_line(each, SHOWN_OF_TURN) for each in _words(turn))


def _words(turn: Turn) -> list[str]:
    return [each for each in (turn.text, turn.last_words) if each.strip()]
