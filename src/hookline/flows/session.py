"""The session: an agent works in a loop, hooks talk to it, until it is done, stuck or spent.

A flow like any other: what happened stands in its journal, and one iteration is one chapter.
The loop itself is here; how it talks to the agent is in `session_talk`, what it does to the store
in `session_verbs`, and what the agent is told in `prompts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from hookline.domain.limits import BUDGETS, after_iteration, countdown, reached
from hookline.domain.moments import seconds
from hookline.domain.promises import find_promises
from hookline.domain.sessions import COMPLETED, ESCALATED, FAILED, LIMIT, SIGNAL, STOPPED, Charge
from hookline.flows import prompts
from hookline.flows.session_state import PINS, Plan, State, Turn, Verdict
from hookline.flows.session_talk import Talk, line_of, said_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.domain.runs import Run
    from hookline.flows.context import Context

HISTORY = 10
BY_PERSON = "a person stopped it"


async def session(ctx: Context, run: Run) -> Any:
    """The flow of a session; the values of a chapter come from its pins."""
    charge = msgspec.convert(run.input, Charge)
    plan = msgspec.convert(run.pins.get(PINS, {}), Plan)
    state = msgspec.convert(ctx.state, State) if ctx.state is not None else None
    return await _Session(ctx, charge, plan, state).go_on()


class _Session(Talk):
    """One chapter of a session."""

    async def go_on(self) -> Any:
        """The next iteration, with what comes before the first one."""
        if self._is_new and self._plan.evidence:
            work = await self._ctx.work(None, id="base")
            self._state.base = work.get("tree")
        if not self._state.is_started:  # one that a person cut short is made again
            await self._fire("session_start", {"goal": self._charge.goal})
            self._state.is_started = not self._is_cut
        if self._state.iteration == 0:
            await self._plan_first()
        return await self._iterate()

    async def _plan_first(self) -> None:
        """Let the agent split the goal into tasks; a person may want to see them first."""
        details = await self._do("details")
        self._situation = self._prompt(prompts.PLAN, {"details": details}, {})
        planned = await self._turn(self._situation, id="plan")
        is_cut = planned.by == "person"
        if planned.failure and not self._asked_to:
            planned = await self._recover(planned)
        if is_cut:
            return
        self._state.iteration = 1
        self._state.history = [{"iteration": 0, "line": f"you planned: {line_of(planned)}"}]
        if self._charge.shows_plan and not (self._is_cut or self._asked_to):
            await self._do("wait", id="show-plan", paused=True, used=self._used, planned=True)
            await self._rest()
            self._next()

    async def _iterate(self) -> Any:
        used = [each._asdict() for each in countdown(self._limits, self._state.progress)]
        brief = await self._do(
            "brief", iteration=self._state.iteration, lease=self._lease, countdown=used
        )
        self._note_wishes(brief)
        began = brief["now"]
        if brief["lost"]:
            return await self._end(brief.get("outcome", STOPPED), brief["lost"])
        if self._asked_to:
            return await self._obey()
        before = await self._fire("pre_iteration")
        self._hold(brief["held"])
        if brief.get("sentBack"):
            self._state.sent_back, self._state.asked = brief["sentBack"], brief.get("asked", False)
        ahead = await self._ahead()
        turn = await self._work(brief, ahead, before["items"])
        if not turn.begun:
            self._note_wishes(await self._do("hear"))
            return await self._obey()
        verdict = Verdict()
        if not turn.failure:
            self._state.conversation = turn.conversation
            verdict = await self._judge(turn)
            verdict = await self._after(turn, verdict)
        if turn.by != "person":
            verdict = await self._deliver_finally(turn, verdict)
        return await self._close(turn, verdict, began)

    async def _work(
        self, brief: dict[str, Any], ahead: dict[str, Any], outputs: list[dict[str, Any]]
    ) -> Turn:
        """The turn of an iteration, recovered if it fails; what such a turn was told is told again.

        The recovery tells it, and if that fails too, the next prompt.
        """
        state, nonce = self._state, brief["nonce"]
        once = {
            "hook_output": prompts.hook_output([*state.held, *outputs], nonce),
            "messages": prompts.messages(state.messages),
            "next_prompt": prompts.next_prompt(state.next_prompt, nonce),
        }
        sent_back = prompts.sent_back(state.sent_back, asked=state.asked)
        self._situation = self._prompt(self._template, brief, ahead, sent_back=sent_back)
        prompt = self._prompt(self._template, brief, ahead, sent_back=sent_back, **once)
        told = len(state.messages)  # more may come while the model is waited for
        keeps = self._plan.conversation == "continue"
        turn = await self._turn(prompt, conversation=state.conversation if keeps else None)
        if turn.failure and turn.by != "person":
            turn = await self._recover(turn, "\n".join(each for each in once.values() if each))
        if not turn.failure:
            state.messages, state.next_prompt, state.held = state.messages[told:], None, []
            state.sent_back = ""
        return turn

    async def _judge(
        self, turn: Turn, step: str = "", checked: dict[str, Any] | None = None
    ) -> Verdict:
        """Validation first, unless nothing changed since; then the stop hooks see its results."""
        if checked is None and not (self._plan.rules or self._plan.evidence):
            checked = {"results": []}
        if checked is None:
            checked = await self._whole(
                lambda: self._ctx.validate(
                    self._plan.rules,
                    output=turn.text,
                    base=self._state.base if self._plan.evidence else None,
                    session=self._identity,
                    id=f"validation{step}",
                )
            )
        promises = [
            *(msgspec.to_builtins(each) for each in find_promises(turn.text)),
            *turn.promised,
        ]
        context = {
            "executionPhase": None,
            "filesModified": turn.files_modified,
            "validationResults": checked["results"],
            "completionPromises": promises,
            "agentOutput": turn.text,
            "draftContent": None,
            "draftType": None,
            "work": checked.get("work"),
        }
        decision = await self._whole(
            lambda: self._ctx.hook("stop", self._payload(context), id=f"stop{step}")
        )
        return Verdict(said=turn, checked=checked, decision=decision)

    async def _after(self, turn: Turn, verdict: Verdict) -> Verdict:
        """post_iteration; what has to reach the agent at once does."""
        files = {"filesModified": turn.files_modified}
        after = await self._whole(lambda: self._fire("post_iteration", files))
        if not after["items"]:
            return verdict
        return await self._deliver(turn, after["items"], after["nonce"], verdict, "delivery")

    async def _deliver_finally(self, turn: Turn, verdict: Verdict) -> Verdict:
        """Tell the agent what is still held, and what people said if it is done. At most twice."""
        for round_ in ("", "-again"):
            is_done = verdict.is_complete  # else its next prompt tells it what people said
            if not (is_done or (verdict.goes_on and self._is_last)):
                break
            found = await self._do("drain", id=f"drain{round_}", messages=is_done)
            held, self._state.held = [*self._state.held, *found["held"]], []
            if is_done:
                self._state.messages = [*self._state.messages, *found.get("messages", [])]
            said = self._state.messages if is_done else []
            if not held and not said:
                break
            step = f"final-delivery{round_}"
            verdict = await self._deliver(turn, held, found["nonce"], verdict, step, said)
            if self._is_cut or self._asked_to or turn.failure:  # what is held stays held
                break
        return verdict

    async def _deliver(
        self,
        turn: Turn,
        outputs: list[dict[str, Any]],
        nonce: str,
        verdict: Verdict,
        step: str,
        said: Sequence[str] = (),
    ) -> Verdict:
        """Say something more in the same conversation; the answer is the agent's last word."""
        last = await self._turn(
            _delivery(outputs, nonce, said),
            conversation=turn.conversation,
            opening=self._opening(turn),
            id=step,
        )
        if not last.failure:
            turn.last_words = last.text or turn.last_words
            self._state.messages = self._state.messages[len(said) :]
            return await self._reconsider(turn, last, verdict, step)
        self._hold(outputs)
        if last.by == "person":
            return Verdict()
        turn.error = last.failure
        last.conversation = last.conversation or turn.conversation
        why = f"a delivery to the agent failed: {last.failure}"
        recovered = await self._recover(last)
        if not recovered.failure:
            turn.last_words = recovered.text or turn.last_words
            verdict = await self._reconsider(turn, recovered, verdict, "recovery")
        return verdict.undone(why)

    async def _reconsider(self, turn: Turn, last: Turn, verdict: Verdict, step: str) -> Verdict:
        """Judge the answer to a delivery, if it promises or changes anything."""
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
        return await self._judge(said, f"-after-{step}", checked)

    async def _close(self, turn: Turn, verdict: Verdict, began: str) -> Any:
        state, results, decision = self._state, verdict.results, verdict.decision
        ended = self._summary(turn, results, decision)
        checkpoint = decision.get("checkpointData")
        closed = await self._do("close", ended=ended, checkpoint=checkpoint)
        self._note_wishes(closed)
        minutes = (seconds(closed["now"]) - seconds(began) - self._waited) / 60
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
            line = {"iteration": state.iteration, "line": line_of(turn)}
            state.history = [*state.history, line][-HISTORY:]
            self._is_over = True
        if closed.get("lost"):
            return await self._end(closed["outcome"], closed["lost"])
        if verdict.is_complete:
            return await self._end(COMPLETED, decision.get("reason", ""))
        if not verdict.goes_on:
            return await self._end(ESCALATED, decision.get("reason", ""))
        state.next_prompt = decision.get("nextPrompt") or state.next_prompt
        limit = reached(self._limits, state.progress)
        if limit is not None:
            failure = prompts.one_line(turn.failure or "")
            told = f"{limit.message}: {failure}" if limit.reason == "failures" else limit.message
            return await self._end(LIMIT, limit.reason, told)
        if self._asked_to:
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
        if self._asked_to == "pause":
            await self._do("wait", paused=True, used=self._used)
            await self._await_resume()
            await self._do("go_on")
            self._next()
        return await self._end(STOPPED, self._stopped_by or BY_PERSON)

    async def _end(self, outcome: str, reason: str, message: str = "") -> Any:
        """The session is over, or over for now: then its next chapter begins once it goes on."""
        ended = await self._conclude(outcome, reason, message)
        if not ended["resumable"]:
            return ended
        await self._rest()
        return self._next()

    async def _whole(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """What a step came to. One that a person cut short is made again, as after a kill."""
        while (found := await ask()).get("by") == "person":
            heard = await self._do("hear")
            self._note_wishes(heard)
            await self._conclude(STOPPED, self._stopped_by or BY_PERSON)
            self._waited += seconds(await self._rest()) - seconds(heard["now"])
        return found

    async def _conclude(self, outcome: str, reason: str, message: str = "") -> dict[str, Any]:
        """Every ending comes here. All but a completed session can be gone on with."""
        resumable = outcome not in (COMPLETED, FAILED)
        ended = {
            "session": self._charge.name,
            "outcome": outcome,
            "reason": reason,
            "message": message or reason,
            "iterations": self._state.progress.iterations,
            "turns": self._state.turns,
            "conversation": self._state.conversation,
            "resumable": resumable,
        }
        await self._fire("session_end", ended)
        unheard = len(self._state.messages)
        done = await self._do("end", ended={**ended, "used": self._used}, unheard=unheard)
        self._state.turns = 0  # they stand with the task now
        return {**ended, **done.get("instead", {})}

    async def _rest(self) -> str:
        """Wait until a person goes on with the session, and take its task again; the moment."""
        await self._await_resume()
        again = await self._do("go_on", again=True)
        while again["lost"]:
            await self._ctx.log(f"cannot go on: {again['lost']}")
            await self._await_resume()
            again = await self._do("go_on", again=True)
        self._is_cut = False
        return str(again["now"])

    @property
    def _used(self) -> dict[str, Any]:
        return {name: getattr(self._state.progress, name) for name in BUDGETS}

    def _next(self) -> NoReturn:
        """The next chapter, with the next iteration if this one is over."""
        self._state.iteration += self._is_over
        self._ctx.next(msgspec.to_builtins(self._state))

    async def _await_resume(self) -> None:
        while True:
            wish = await self._ctx.signal(SIGNAL)
            if wish["verb"] == "resume":
                self._state.limits |= wish.get("limits") or {}
                # What was wanted before is done, or no longer wanted.
                self._asked_to, self._stopped_by = None, None
                return
            self._hear(wish)


def _delivery(outputs: Sequence[dict[str, Any]], nonce: str, said: Sequence[str]) -> str:
    """What is told after the agent's last message: words of people are work, outputs are data."""
    told = prompts.delivery(outputs, nonce) if outputs or not said else ""
    if not said:
        return told
    now = "This was said after you began your last message. It is part of your work: do it now."
    return prompts.quoted(f"{prompts.messages(said)}\n{now}\n\n{told}".rstrip() + "\n")
