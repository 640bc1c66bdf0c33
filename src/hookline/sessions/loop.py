"""The session: an agent works in a loop with hooks until it is done, stuck or out of budget.

A flow like any other: its journal records what happened, and one iteration is one chapter.
The loop itself is here; how it talks to the agent is in `talk`, what it does to the store
in `verbs`, and what the agent is told in `prompts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from hookline.domain import sessions
from hookline.domain.answers import BESIDE
from hookline.domain.limits import after_iteration, countdown, reached
from hookline.domain.promises import find_promises
from hookline.domain.sessions import SessionInput
from hookline.domain.timestamps import seconds
from hookline.hooks.builtin.stop.context import help_asked_for
from hookline.points import END, JUDGED, PROMPT, START, VALIDATION
from hookline.sessions import prompts
from hookline.sessions.requests import Brief, ChecksTold, Closed, Drained, Ending, HookOutput
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
from hookline.sessions.talk import SessionTalk, line_of, said_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.domain.runs import Run
    from hookline.domain.turns import AgentProblem, Unpaid
    from hookline.flows.context import Context

HISTORY = 10
BY_PERSON = "a person stopped it"


async def session(ctx: Context, run: Run) -> Any:
    """The flow of a session; the values of a chapter come from its pins."""
    given = msgspec.convert(run.input, SessionInput)
    plan = msgspec.convert(run.pins.get(PINS, {}), Plan)
    state = msgspec.convert(ctx.state, State) if ctx.state is not None else None
    return await _Session(ctx, given, plan, state).run_iteration()


class _Session:
    """One chapter of a session."""

    def __init__(self, ctx: Context, given: SessionInput, plan: Plan, state: State | None) -> None:
        self._ctx = ctx
        self._is_new = state is None
        self._is_over = False
        self._chapter = Chapter(given, plan, state)
        self._given, self._plan, self._state = given, plan, self._chapter.state
        self._requests = PersonRequests(self._state)
        self._talk = SessionTalk(ctx, self._chapter, self._requests)

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
                return await self._end(sessions.STOPPED, why, waitsFor=parts)
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
            await self._end_unpaid(planned.unpaid)
        if planned.problem is not None:
            await self._end_unable(planned.problem)
        if is_cut:
            return
        self._state.iteration, self._state.is_planned = 1, True
        self._state.history = [{"iteration": 0, "line": f"you planned: {line_of(planned)}"}]
        if self._given.shows_plan and not (self._requests.is_cut or self._requests.asked_to):
            used = self._chapter.used
            await self._talk.do("wait", id="show-plan", paused=True, used=used, planned=True)
            await self._rest()
            self._next()

    async def _iterate(self) -> Any:
        used = [each._asdict() for each in countdown(self._chapter.limits, self._state.progress)]
        brief: Brief = await self._talk.do(
            "brief", iteration=self._state.iteration, lease=self._chapter.lease, countdown=used
        )
        self._requests.note(brief)
        began = brief["now"]
        if brief["lost"]:
            return await self._end(brief.get("outcome", sessions.STOPPED), brief["lost"])
        if self._requests.asked_to:
            return await self._obey()
        before = await self._talk.fire(PROMPT)
        self._talk.hold(brief["held"])
        if brief.get("sentBack"):
            self._state.sent_back, self._state.asked = brief["sentBack"], brief.get("asked", False)
        ahead = await self._talk.ahead()
        turn = await self._work(brief, ahead, before["items"])
        if turn.unpaid is not None:
            return await self._end_unpaid(turn.unpaid)
        if turn.problem is not None:
            return await self._end_unable(turn.problem)
        if not turn.begun:
            self._requests.note(await self._talk.do("hear"))
            return await self._obey()
        verdict = TurnVerdict()
        if not turn.failure:
            self._state.conversation = turn.conversation
            verdict = await self._evaluate(turn)
            verdict = await self._after(turn, verdict)
        if turn.by != "person":
            verdict = await self._deliver_finally(turn, verdict)
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
            # What comes after the turn is no longer about why the work was sent back.
            self._talk.situation = self._talk.prompt(template, brief, ahead)
        return turn

    def _template(self) -> str:
        """What the prompt of an iteration is made from."""
        if self._plan.template is not None:
            return prompts.completed(self._plan.template)
        return prompts.DEFAULT_LAST if self._chapter.is_last else prompts.DEFAULT

    async def _evaluate(
        self, turn: Turn, step: str = "", checked: dict[str, Any] | None = None
    ) -> TurnVerdict:
        """Validation first, unless nothing changed since; then the stop hooks see its results."""
        files = {"filesModified": turn.files_modified}
        if checked is None:
            await self._whole(lambda: self._talk.fire(VALIDATION, files, step))
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
        decision = await self._whole(lambda: self._ctx.hook("stop", payload, id=f"stop{step}"))
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
        found: dict[str, Any] = await self._whole(lambda: self._ctx.own("validate", asked, id=name))
        return found

    async def _after(self, turn: Turn, verdict: TurnVerdict) -> TurnVerdict:
        """Fire the points after the stop hooks; urgent output reaches the agent at once."""
        files = {"filesModified": turn.files_modified}
        after = await self._whole(lambda: self._talk.fire(JUDGED, files))
        if not after["items"]:
            return verdict
        return await self._deliver(turn, after["items"], after["nonce"], verdict, "delivery")

    async def _deliver_finally(self, turn: Turn, verdict: TurnVerdict) -> TurnVerdict:
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
        return await self._evaluate(said, f"-after-{step}", checked)

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
            )
            line = PastIteration(iteration=state.iteration, line=line_of(turn))
            state.history = [*state.history, line][-HISTORY:]
            self._is_over = True
        if closed.get("lost"):
            return await self._end(closed["outcome"], closed["lost"])
        if verdict.is_complete:
            return await self._end(sessions.COMPLETED, decision.get("reason", ""))
        if not verdict.goes_on:
            found = (decision.get("metadata") or {}).get(BESIDE)
            more = {BESIDE: found} if isinstance(found, str) else {}
            return await self._end(sessions.ESCALATED, decision.get("reason", ""), **more)
        if turn.problem is not None:
            return await self._end_unable(turn.problem)
        state.next_prompt = decision.get("nextPrompt") or state.next_prompt
        limit = reached(self._chapter.limits, state.progress)
        if limit is not None:
            failure = prompts.one_line(turn.failure or "")
            told = f"{limit.message}: {failure}" if limit.reason == "failures" else limit.message
            return await self._end(sessions.LIMIT, limit.reason, told)
        if self._requests.asked_to:
            return await self._obey()
        return self._next()

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

    async def _obey(self) -> Any:
        """A person wants to stop or to pause."""
        if self._requests.asked_to == "pause":
            await self._talk.do("wait", paused=True, used=self._chapter.used)
            await self._await_resume()
            await self._talk.do("go_on")
            self._next()
        return await self._end(sessions.STOPPED, self._requests.stopped_by or BY_PERSON)

    async def _end(self, outcome: str, reason: str, message: str = "", **more: Any) -> Any:
        """End the session, or suspend it: then its next chapter begins when it resumes.

        `more` is what else its ending says.
        """
        ended = await self._conclude(outcome, reason, message, **more)
        if not ended["resumable"]:
            return ended
        await self._rest()
        return self._next()

    async def _end_unpaid(self, unpaid: Unpaid) -> Any:
        """End without money for a turn: what a worker has not, another may have."""
        if unpaid.limit is None:
            return await self._end(sessions.STOPPED, unpaid.message)
        return await self._end(sessions.LIMIT, unpaid.limit, unpaid.message)

    async def _end_unable(self, problem: AgentProblem) -> Any:
        """End because the agent cannot work; the iteration is made once that is repaired."""
        why, told = problem.message, msgspec.to_builtins(problem)
        return await self._end(sessions.ESCALATED, why, problem.told, problem=told)

    async def _whole(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The result of a step. One that a person interrupted is made again, as after a kill."""
        while (found := await ask()).get("by") == "person":
            heard = await self._talk.do("hear")
            self._requests.note(heard)
            await self._conclude(sessions.STOPPED, self._requests.stopped_by or BY_PERSON)
            self._talk.waited += seconds(await self._rest()) - seconds(heard["now"])
        return found

    async def _conclude(self, outcome: str, reason: str, message: str = "", **more: Any) -> Ending:
        """Every ending comes here. All but a completed or failed session can be resumed."""
        state = self._state
        ended = Ending(
            session=self._given.name,
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

    async def _rest(self) -> str:
        """Wait until a person resumes the session, and claim its task again; the time."""
        await self._await_resume()
        while (again := await self._talk.do("go_on", again=True))["lost"]:
            await self._ctx.log(f"cannot continue: {again['lost']}")
            await self._await_resume()
        self._requests.is_cut = False
        return str(again["now"])

    def _next(self) -> NoReturn:
        """The next chapter, with the next iteration if this one is over."""
        self._state.iteration += self._is_over
        self._ctx.next(msgspec.to_builtins(self._state))

    async def _await_resume(self) -> None:
        while True:
            wish = await self._ctx.signal(sessions.SIGNAL)
            if wish["verb"] == "resume":
                self._state.limits |= wish.get("limits") or {}
                # Earlier requests are done, or no longer wanted.
                self._requests.asked_to, self._requests.stopped_by = None, None
                return
            self._requests.hear(wish)
