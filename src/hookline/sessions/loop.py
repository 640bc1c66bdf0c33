"""The session: an agent works in a loop with hooks until it is done, stuck or out of budget.

A flow like any other: its journal records what happened, and one iteration is one chapter.
The loop itself is here; how it talks to the agent is in `talk`, how it evaluates a turn in
`evaluation`, what it does to the store in `verbs`, and what the agent is told in `prompts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline import typed
from hookline.domain.hooks.answers import BESIDE
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import after_iteration, countdown, reached
from hookline.domain.sessions.model import SessionInput
from hookline.domain.text.display import line_of
from hookline.domain.timestamps import seconds
from hookline.points import PROMPT, START
from hookline.sessions.chapter_ends import ChapterEnds
from hookline.sessions.evaluation import Evaluation
from hookline.sessions.state import (
    PINS,
    Chapter,
    PastIteration,
    PersonRequests,
    Plan,
    State,
    Turn,
    TurnVerdict,
)
from hookline.sessions.talk import SessionTalk, said_in, turn_line
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context
    from hookline.sessions.requests import Brief, ChecksTold, Closed, HookOutput

HISTORY = 10


async def session(ctx: Context, run: Run) -> Any:
    """The flow of a session; the values of a chapter come from its pins."""
    given = typed.convert(run.input, SessionInput)
    plan = typed.convert(run.pins.get(PINS, {}), Plan)
    state = typed.convert(ctx.state, State) if ctx.state is not None else None
    return await _Session(ctx, given, plan, state).run_iteration()


class _Session:
    """One chapter of a session."""

    def __init__(self, ctx: Context, given: SessionInput, plan: Plan, state: State | None) -> None:
        self._ctx = ctx
        self._is_new = state is None
        self._chapter = Chapter(given, plan, state)
        self._given, self._plan, self._state = given, plan, self._chapter.state
        self._requests = PersonRequests(self._state)
        self._talk = SessionTalk(ctx, self._chapter, self._requests)
        self._ends = ChapterEnds(ctx, self._chapter, self._requests, self._talk)
        self._evaluation = Evaluation(ctx, self._chapter, self._requests, self._talk, self._ends)

    async def run_iteration(self) -> Any:
        """The next iteration, with what comes before the first one."""
        if self._is_new and self._plan.evidence:
            work = await self._ctx.own("work", {"base": None}, id="base")
            self._state.base = work.get("tree")
            self._state.is_untouched = not work.get("changedFiles")
        if not self._state.is_started:  # an interrupted one is made again
            await self._talk.fire(START, {"goal": self._given.goal})
            self._state.is_started = not self._requests.is_cut
        if self._state.iteration == 0:
            await self._plan_first()
        if self._state.is_planned and self._given.branch is not None:
            parts = (await self._talk.do("await_parts"))["waitsFor"]
            if parts:
                why = f"it waits for {', '.join(parts)}"
                return await self._ends.end(sessions.STOPPED, why, waitsFor=parts)
        return await self._iterate()

    async def _plan_first(self) -> None:
        """Let the agent split the goal into tasks; a person may want to see them first."""
        details, ahead = await self._talk.do("details"), await self._talk.ahead_of_parts()
        self._talk.situation = self._talk.prompt(prompts.PLAN, {"details": details}, ahead)
        planned = await self._talk.turn(self._talk.situation, id="plan")
        is_cut = planned.by == "person"
        if planned.failure and not self._requests.asked_to:
            planned = await self._talk.recover(planned)
        if planned.unpaid is not None:
            await self._ends.end_unpaid(planned.unpaid)
        if planned.problem is not None:
            await self._ends.end_unable(planned.problem)
        if is_cut:
            return
        self._state.iteration, self._state.is_planned = 1, True
        self._state.history = [{"iteration": 0, "line": f"you planned: {turn_line(planned)}"}]
        if self._given.shows_plan and not (self._requests.is_cut or self._requests.asked_to):
            used = self._chapter.used
            await self._talk.do("wait", id="show-plan", paused=True, used=used, planned=True)
            await self._ends.rest()
            self._ends.next_chapter()

    async def _iterate(self) -> Any:
        used = [each._asdict() for each in countdown(self._chapter.limits, self._state.progress)]
        brief: Brief = await self._talk.do(
            "brief", iteration=self._state.iteration, lease=self._chapter.lease, countdown=used
        )
        self._requests.note(brief)
        began = brief["now"]
        if brief["lost"]:
            return await self._ends.end(brief.get("outcome", sessions.STOPPED), brief["lost"])
        if self._requests.asked_to:
            return await self._ends.obey()
        before = await self._talk.fire(PROMPT)
        self._talk.hold(brief["held"])
        if brief.get("sentBack"):
            self._state.sent_back, self._state.asked = brief["sentBack"], brief.get("asked", False)
        ahead = await self._talk.ahead()
        turn = await self._work(brief, ahead, before["items"])
        if turn.unpaid is not None:
            return await self._ends.end_unpaid(turn.unpaid)
        if turn.problem is not None:
            return await self._ends.end_unable(turn.problem)
        if not turn.begun:
            self._requests.note(await self._talk.do("hear"))
            return await self._ends.obey()
        verdict = TurnVerdict()
        if not turn.failure:
            self._state.conversation = turn.conversation
            verdict = await self._evaluation.evaluate(turn)
            verdict = await self._evaluation.after(turn, verdict)
        if turn.by != "person":
            verdict = await self._evaluation.deliver_finally(turn, verdict)
        return await self._close(turn, verdict, began)

    async def _work(self, brief: Brief, ahead: ChecksTold, outputs: list[HookOutput]) -> Turn:
        """The turn of an iteration, recovered if it fails; what it was told is repeated.

        The recovery repeats it, and if that fails too, the next prompt.
        """
        state = self._state
        once = prompts.ToldOnce(
            [*state.held, *outputs], tuple(state.messages), state.next_prompt, brief["nonce"]
        )
        sent_back = prompts.sent_back(state.sent_back, asked=state.asked)
        template = self._template()
        self._talk.situation = self._talk.prompt(template, brief, ahead, sent_back=sent_back)
        prompt = self._talk.prompt(template, brief, ahead, sent_back=sent_back, **once.values())
        told = len(state.messages)  # more may come while the model is waited for
        keeps = self._plan.conversation == "continue"
        turn = await self._talk.turn(prompt, conversation=state.conversation if keeps else None)
        if turn.failure and turn.by != "person":
            turn = await self._talk.recover(turn, once)
        if not turn.failure:
            state.messages, state.next_prompt, state.held = state.messages[told:], None, []
            state.sent_back = ""
            # What comes after the turn is no longer about why the work was sent back, but what
            # people say still holds.
            said = once.values()["messages"]
            self._talk.situation = self._talk.prompt(template, brief, ahead, messages=said)
        return turn

    def _template(self) -> str:
        """What the prompt of an iteration is made from."""
        if self._plan.template is not None:
            return prompts.completed(self._plan.template)
        return prompts.DEFAULT_LAST if self._chapter.is_last else prompts.DEFAULT

    async def _close(self, turn: Turn, verdict: TurnVerdict, began: str) -> Any:
        state, results, decision = self._state, verdict.results, verdict.decision
        ended, kept = self._summary(turn, results, decision), decision.get("checkpointData")
        closed: Closed = await self._talk.do("close", ended=ended, checkpoint=kept)
        self._requests.note(closed)
        minutes = (seconds(closed["now"]) - seconds(began) - self._talk.waited) / 60
        passed = sum(each["passed"] for each in results) if results else None
        if turn.by != "person":
            state.progress = after_iteration(
                state.progress,
                failed=turn.failure is not None,
                output=turn.text,
                fingerprint=turn.fingerprint,
                changed=bool(turn.files_modified) or turn.fingerprint is None,
                passed=passed,
                total=len(results) if results else None,
                minutes=max(minutes, 0.0),
                usd=closed["spent"]["usd"] - state.progress.usd,
                tokens=closed["spent"]["tokens"] - state.progress.tokens,
                cut=turn.interrupted and turn.error is None,
            )
            line = PastIteration(iteration=state.iteration, line=turn_line(turn))
            state.history = [*state.history, line][-HISTORY:]
            self._ends.is_over = True
        if closed.get("lost"):
            return await self._ends.end(closed["outcome"], closed["lost"])
        if verdict.is_complete:
            return await self._ends.end(sessions.COMPLETED, decision.get("reason", ""))
        if not verdict.goes_on:
            found = (decision.get("metadata") or {}).get(BESIDE)
            more = {BESIDE: found} if isinstance(found, str) else {}
            return await self._ends.end(sessions.ESCALATED, decision.get("reason", ""), **more)
        if turn.problem is not None:
            return await self._ends.end_unable(turn.problem)
        state.next_prompt = decision.get("nextPrompt") or state.next_prompt
        limit = reached(self._chapter.limits, state.progress)
        if limit is not None:
            failure = line_of(turn.failure or "")
            told = f"{limit.message}: {failure}" if limit.reason == "failures" else limit.message
            return await self._ends.end(sessions.LIMIT, limit.reason, told)
        if self._requests.asked_to:
            return await self._ends.obey()
        return self._ends.next_chapter()

    def _summary(self, turn: Turn, results: Any, decision: Any) -> dict[str, Any]:
        return {
            "iteration": self._state.iteration,
            "status": "failed" if turn.failure else "ok",
            "error": turn.failure or turn.recovered_from,
            "text": said_in(turn),
            "filesModified": turn.files_modified[:200],
            "tools": turn.tools,
            "passed": sum(each["passed"] for each in results),
            "rules": len(results),
            "decision": decision.get("action"),
            "reason": decision.get("reason"),
            "hook": decision.get("hookId"),
        }
