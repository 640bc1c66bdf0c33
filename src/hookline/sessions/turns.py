"""Effects that reach agents: turns, with what they do to files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRED, SESSION_POINTS, TOLD
from hookline.domain.hooks.records import PENDING
from hookline.domain.runs.model import ERROR, OK, JournalEffect, Resolution, Run
from hookline.domain.work.repository import control_told
from hookline.flows.effects import DEFAULT_TIMEOUT, EffectKind
from hookline.flows.outcomes import CUT
from hookline.ports.agents import TurnRequest
from hookline.sessions.git_control import GitControl
from hookline.sessions.spending import budget_used_up, purpose_of
from hookline.sessions.told.task_file import renew_task_file
from hookline.sessions.verbs import may_begin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.sessions.turns import AgentEvent, AgentTurn, Unpaid
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.ports.store import Transaction
    from hookline.sessions.run_files import RunFiles

PROMISE = "session_promise"
# The step in which an agent continues a turn that failed.
RECOVERY = "recovery"
# How long the end of a turn waits for output of hooks about tasks completed in it.
LONGEST_TELLING, POLL_SECONDS = 60.0, 0.05


class TurnEffects:
    """The kind of effects that runs agents."""

    def __init__(self, around: Surroundings, files: RunFiles) -> None:
        self._around, self._files = around, files
        self._control = GitControl(around)

    @property
    def kinds(self) -> Mapping[str, EffectKind]:
        """The table of this kind."""
        return {"agent": EffectKind(self._agent, _key, _cut_turn)}

    async def _agent(self, attempt: Attempt) -> Resolution:
        """One turn of an agent; in a session, with what it did to the files."""
        run, effect = attempt.run, attempt.effect
        session = effect.args.get("session")
        with self._around.store.read() as view:
            if session and not may_begin(view, run, effect.step):
                return Resolution(OK, {**CUT, "begun": False})
            spent = budget_used_up(view, run) if session and effect.step == RECOVERY else None
        if spent is not None:
            return Resolution(OK, _unbegun(spent))
        before = await self._files.state(run) if session else None
        control = await self._control.begin(attempt)
        iteration = (session or {}).get("iteration")
        call = purpose_of(run, effect).call
        started = {"step": effect.step, "iteration": iteration, "call": call}
        attempt.observe("turn_started", started)
        turn = await self._turn(attempt)
        if turn.unpaid is not None:
            attempt.observe("turn_ended", {**_shown(turn), "step": effect.step, "files": []})
            unbegun, strict = _unbegun(turn.unpaid), effect.args.get("check", True)
            return Resolution(
                ERROR if strict else OK, unbegun, unbegun["error"] if strict else None
            )
        value = msgspec.to_builtins(turn)
        if before is not None:
            value |= await self._files.done(run, before)
            value["promised"] = self._promised(run, effect)
            await self._hear_out(run, effect)
        files = attempt.around.clean(value.get("filesModified"))
        attempt.observe("turn_ended", {**_shown(turn), "step": effect.step, "files": files})
        changed = await self._control.changed(control)
        error = turn.error
        if changed:
            value["gitChanged"] = changed
            error = error or control_told(changed)

        def ended(tx: Transaction) -> None:
            self._control.end(tx, run, changed)

        failed = error is not None and effect.args.get("check", True)
        return Resolution(ERROR if failed else OK, value, error if failed else None, also=ended)

    async def _turn(self, attempt: Attempt) -> AgentTurn:
        args, session = attempt.args, attempt.args.get("session") or {}
        with self._around.store.read() as view:
            renew_task_file(view, attempt.run, self._files.folder(attempt.run))
        env = {**attempt.environment, **session_environment(session)}

        def tell(event: AgentEvent) -> None:
            attempt.observe("agent", msgspec.to_builtins(event))

        request = TurnRequest(
            prompt=args["prompt"],
            env=env,
            timeout=attempt.timeout(DEFAULT_TIMEOUT),
            cwd=self._files.folder(attempt.run),
            conversation=args.get("conversation"),
            opening=args.get("opening", ""),
            max_turns=args.get("maxTurns"),
            tools=self._around.tools(env) if session else None,
            purpose=purpose_of(attempt.run, attempt.effect),
            on_start=attempt.born,
            on_conversation=attempt.talks,
            on_event=tell,
        )
        if (clone := self._around.clone) is not None:
            request = clone.talk(attempt, request)
        return await self._around.agents.turn(args.get("agent"), request)

    def _promised(self, run: Run, effect: JournalEffect) -> list[dict[str, Any]]:
        """What the agent promised through a tool during its turn."""
        with self._around.store.read() as view:
            after = effect.requested_seq
            events = view.log.events(node_id=run.run_id, types=(PROMISE,), after=after)
        return [
            {
                "type": event.data["type"],
                "detected": True,
                "content": event.data.get("summary") or "session_complete",
                "detectedAt": event.timestamp,
            }
            for event in events
        ]

    async def _hear_out(self, run: Run, effect: JournalEffect) -> None:
        """Deliver events of a turn, so that hooks' output about its tasks is in the next prompt."""
        scopes, points = self._around.scopes, SESSION_POINTS.values()
        piped = {h.name for point in points for h in scopes.all_hooks_at(point) if h.pipe_output}
        waited = 0.0
        while piped and waited < LONGEST_TELLING and self._untold(run, effect, piped):
            await asyncio.sleep(POLL_SECONDS)
            waited += POLL_SECONDS

    def _untold(self, run: Run, effect: JournalEffect, piped: set[str]) -> bool:
        with self._around.store.read() as view:
            fired = view.log.events(types=(FIRED,), after=effect.requested_seq)
            told = [event.seq for event in fired if event.data.get(TOLD) == run.run_id]
            calls = [call for seq in told for call in view.calls.deliveries(seq)]
        return any(call.status == PENDING and call.hook in piped for call in calls)


def _unbegun(unpaid: Unpaid) -> dict[str, Any]:
    return {"error": unpaid.message, "begun": False, "unpaid": msgspec.to_builtins(unpaid)}


def _key(attempt: Attempt) -> list[str]:
    return [attempt.key]


def _cut_turn(effect: JournalEffect, asked: int) -> Resolution:
    return Resolution(OK, {**CUT, "conversation": effect.conversation})


def _shown(turn: AgentTurn) -> dict[str, Any]:
    """What someone who watches is shown of a turn."""
    return {
        "error": turn.error,
        "tools": turn.tools,
        "usage": msgspec.to_builtins(turn.usage),
        "wait": msgspec.to_builtins(turn.wait) if turn.wait else None,
    }


def session_environment(session: Mapping[str, Any]) -> dict[str, str]:
    """What programs of a session find in their environment."""
    if not session:
        return {}
    return {
        "HOOKLINE_SESSION": session["name"],
        "HOOKLINE_ITERATION": str(session["iteration"]),
        "HOOKLINE_TASK_ID": session["task"],
    }
