"""Effects that reach agents: turns, their changes to files, and validation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRED, SESSION_POINTS, TOLD
from hookline.domain.hooks.records import PENDING
from hookline.domain.runs.model import ERROR, OK, JournalEffect, Resolution, Run
from hookline.domain.sessions.turns import AgentEvent, AgentTurn, Unpaid
from hookline.domain.sessions.validation import ValidationRule
from hookline.domain.work.repository import control_told
from hookline.flows.effects import DEFAULT_TIMEOUT, EffectKind
from hookline.flows.outcomes import CUT
from hookline.hooks.followed import followed_files, steering_files
from hookline.hooks.validation import ValidationWorld, validate
from hookline.ports.agents import TurnRequest
from hookline.project import path_here
from hookline.sessions.git_control import GitControl
from hookline.sessions.spending import budget_used_up, purpose_of
from hookline.sessions.told.task_file import renew_task_file
from hookline.sessions.verbs import may_begin
from hookline.tasks.task_runs import beside
from hookline.tasks.work_record import is_excused, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.payloads import ValidationResult
    from hookline.domain.work.repository import WorkState
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.ports.store import Transaction

PROMISE, CHECKED = "session_promise", "session_checked"
# So much of a rule's command tells it from others.
LONGEST_COMMAND = 500
# The step in which an agent continues a turn that failed.
RECOVERY = "recovery"
# How long the end of a turn waits for output of hooks about tasks completed in it.
LONGEST_TELLING, POLL_SECONDS = 60.0, 0.05


class TurnEffects:
    """The kinds of effects that run agents and check what they did."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._control = GitControl(around)
        # Until a hook or a rule runs, no one else has touched the files of a run.
        self._states: dict[str, WorkState] = {}

    @property
    def kinds(self) -> Mapping[str, EffectKind]:
        """The table of these kinds."""
        return {
            "agent": EffectKind(self._agent, _key, _cut_turn),
            "validate": EffectKind(self._validate, _key, _cut_validation),
            "work": EffectKind(self._work),
        }

    def forget(self, run: Run) -> None:
        """Note that programs may touch the files of a run from now on."""
        self._states.pop(run.run_id, None)

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
        before = await self._state(run) if session else None
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
            value |= await self._done(run, before)
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
            renew_task_file(view, attempt.run, self._folder(attempt.run))
        env = {**attempt.environment, **_session_environment(session)}

        def tell(event: AgentEvent) -> None:
            attempt.observe("agent", msgspec.to_builtins(event))

        request = TurnRequest(
            prompt=args["prompt"],
            env=env,
            timeout=attempt.timeout(DEFAULT_TIMEOUT),
            cwd=self._folder(attempt.run),
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

    async def _state(self, run: Run) -> WorkState:
        known = self._states.pop(run.run_id, None)
        return known or await self._around.work.state(self._folder(run))

    async def _done(self, run: Run, before: WorkState) -> dict[str, Any]:
        work, root = self._around.work, self._folder(run)
        after = self._states[run.run_id] = await work.state(root)
        if after.error is not None:
            notice = AgentEvent(type="notice", text=after.error)
            self._around.feed(run.run_id)("agent", msgspec.to_builtins(notice))
        files = await work.between(root, before, after)
        done = {"filesModified": files, "fingerprint": after.fingerprint}
        # What is committed can be shown later, whatever becomes of the files.
        is_moved = after.commit != before.commit
        return {**done, "commits": [before.commit, after.commit]} if is_moved else done

    async def _validate(self, attempt: Attempt) -> Resolution:
        """Run validation rules; with a base, also the changes since, and if they are stable."""
        found, _ = await self._control.watch(attempt, lambda: self._checked(attempt))
        return found

    async def _checked(self, attempt: Attempt) -> Resolution:
        around, args, run = self._around, attempt.args, attempt.run
        env = {**attempt.environment, **_session_environment(args["session"])}
        rules = msgspec.convert(args["rules"], list[ValidationRule])
        folder, base = self._folder(run), args["base"]
        known = None if base else self._states.get(run.run_id)
        before = known or (await around.work.state(folder) if rules or base else None)
        self.forget(run)
        world = ValidationWorld(
            folder, around.processes, env, verify=lambda line: around.verify_line(line, folder)
        )
        attempt.observe("validation_started", {"rules": [rule.name for rule in rules]})
        results = await validate(rules, world, args["output"])
        value: dict[str, Any] = {"results": msgspec.to_builtins(results)}
        attempt.observe("validation_ended", value)
        if base and before is not None:
            value["work"] = await self._compared(run, base, rules, before)

        def checked(tx: Transaction) -> None:
            if results and before is not None:
                found = _checks(args["session"], before, results)
                tx.append(CHECKED, run.run_id, around.clean(found))

        return Resolution(OK, value, also=checked)

    async def _compared(
        self, run: Run, base: str, rules: Sequence[ValidationRule], before: WorkState
    ) -> dict[str, Any]:
        """What changed since the work began, and whether the rules left it as it was."""
        folder = self._folder(run)
        after = await self._around.work.state(folder)
        followed = [name for rule in rules if rule.follow for name in _followed(folder, rule)]
        tree = await self._tree(run, base, followed)
        stable = after.fingerprint == before.fingerprint
        return {**tree, **self._known(run), "stable": stable}

    async def _work(self, attempt: Attempt) -> Resolution:
        """What the work began with as a tree, and what a task's branch has changed already."""
        run, began = attempt.run, None
        if run.input.get("branch") is not None:
            with self._around.store.read() as view:
                began = start_of(view, run.input["taskId"])
        tree = await self._tree(run, began)
        return Resolution(OK, {**tree, "tree": began or tree.get("tree")})

    def _known(self, run: Run) -> dict[str, Any]:
        """What the store knows about the work, and git does not."""
        with self._around.store.read() as view:
            task = view.graph.find(run.input["taskId"])
            other = beside(view, run, self._around.store.now())
            return {
                "excused": task is not None and is_excused(view, task),
                "gated": run.input.get("branch") is not None,
                "beside": other.input["name"] if other is not None else None,
            }

    def _folder(self, run: Run) -> str:
        """Where the agent of a run works: the worktree of its task, or the project's root."""
        return path_here(self._around.root, run.input.get("worktree") or "")

    async def _tree(
        self, run: Run, base: str | None, counted: Sequence[str] = ()
    ) -> dict[str, Any]:
        found = await self._around.work.tree(self._folder(run), base, counted)
        return dict(msgspec.to_builtins(found))


def _followed(folder: str, rule: ValidationRule) -> list[str]:
    line = rule.command or ""
    return [*followed_files(folder, line), *steering_files(folder, line)]


def _unbegun(unpaid: Unpaid) -> dict[str, Any]:
    return {"error": unpaid.message, "begun": False, "unpaid": msgspec.to_builtins(unpaid)}


def _checks(
    session: Mapping[str, Any], seen: WorkState, results: Sequence[ValidationResult]
) -> dict[str, Any]:
    """What the log keeps of a validation, also where what its programs printed is pruned."""
    found = (msgspec.to_builtins(each) for each in results)
    checks = [
        {
            "name": each["ruleName"],
            "type": each["type"],
            "command": (each["command"] or "")[:LONGEST_COMMAND] or None,
            "passed": each["passed"],
            "exitCode": each["exitCode"],
            "durationMs": each["durationMs"],
        }
        for each in found
    ]
    return {"iteration": session["iteration"], "files": seen.fingerprint, "checks": checks}


def _key(attempt: Attempt) -> list[str]:
    return [attempt.key]


def _cut_turn(effect: JournalEffect, asked: int) -> Resolution:
    return Resolution(OK, {**CUT, "conversation": effect.conversation})


def _cut_validation(effect: JournalEffect, asked: int) -> Resolution:
    return Resolution(OK, {**CUT, "results": []})


def _session_environment(session: dict[str, Any]) -> dict[str, str]:
    if not session:
        return {}
    return {
        "HOOKLINE_SESSION": session["name"],
        "HOOKLINE_ITERATION": str(session["iteration"]),
        "HOOKLINE_TASK_ID": session["task"],
    }


def _shown(turn: AgentTurn) -> dict[str, Any]:
    """What someone who watches is shown of a turn."""
    return {
        "error": turn.error,
        "tools": turn.tools,
        "usage": msgspec.to_builtins(turn.usage),
        "wait": msgspec.to_builtins(turn.wait) if turn.wait else None,
    }
