"""Effects that reach agents and hooks: turns, hook points, validation, and what was done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRED, TASK_DONE, TOLD
from hookline.domain.payloads import check_payload, problems_of
from hookline.domain.records import PENDING
from hookline.domain.repository import control_told
from hookline.domain.runs import ERROR, OK, Resolution
from hookline.domain.sessions import HeldOutput
from hookline.domain.turns import AgentEvent
from hookline.domain.validation import Rule
from hookline.flows import prompts
from hookline.flows.fired_events import as_event
from hookline.flows.forge_report import ForgeReports
from hookline.flows.gate_answers import gate_answer
from hookline.flows.gate_commands import commands_of, runs_programs
from hookline.flows.git_control import GitControl
from hookline.flows.judged import renew_task_file
from hookline.flows.outcomes import CUT
from hookline.flows.session_verbs import may_begin
from hookline.flows.spending import budget_used_up, purpose_of
from hookline.hooks.calls.firing import Firing, fire
from hookline.hooks.calls.settle import task_of
from hookline.hooks.framing import new_word
from hookline.hooks.overrides import overrides
from hookline.hooks.registered import both, decide, hook_of
from hookline.hooks.rules import RULES, fed_text
from hookline.hooks.validation import ValidationWorld, validate
from hookline.points import DECIDE, FEED, GATE, REACT, STEER, rule_of
from hookline.ports.agents import TurnRequest
from hookline.tasks import registrations

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.answers import StopDecision
    from hookline.domain.events import Event
    from hookline.domain.records import Outcome
    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.turns import AgentTurn
    from hookline.domain.work import WorkState
    from hookline.flows.effects import Executor
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import Called
    from hookline.ports.store import Transaction

DEFAULT_TIMEOUT = 3600.0
# Points whose piped output waits for the next prompt; elsewhere it is part of the answer.
HELD = frozenset({"session_start", "post_iteration"})
PROMISE = "session_promise"
# Gates that have nothing to do for work that is merged without a pull request.
OF_PULL_REQUESTS = frozenset({"create_pr", "ci_status"})
# Here our own hooks act on what really happens to tasks and runs, never on what a flow fires.
EVENT_RULES = frozenset({REACT, STEER})
LONGEST_REASON = 2000
# The step in which an agent goes on with a turn that failed.
RECOVERY = "recovery"
# How long the end of a turn waits for what hooks have to say about tasks completed in it.
LONGEST_TELLING, GLANCE = 60.0, 0.05


class Records(list["Callable[[Transaction], None]"]):
    """Records of hook calls that are written together with the result of their effect."""

    def write(self, tx: Transaction) -> None:
        """Write them all."""
        for each in self:
            each(tx)


class Outward:
    """The kinds of effects that reach agents and hooks, for one executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._around = executor.around
        self._states: dict[str, WorkState] = {}
        self._reports = ForgeReports(executor.around)
        self._control = GitControl(executor.around)

    # Turns of agents

    async def agent(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        """One turn of an agent; in a session, with what it did to the files."""
        args = effect.args
        session = args.get("session")
        with self._around.store.read() as view:
            if session and not may_begin(view, run, effect.step):
                return Resolution(OK, {**CUT, "begun": False})
            spent = budget_used_up(view, run) if session and effect.step == RECOVERY else None
        if spent is not None:
            return Resolution(OK, {"error": spent, "begun": False})
        feed = self._around.feed(run.run_id)
        before = await self._state(run) if session else None
        control = await self._control.begin(run, guard)
        feed("turn_started", {"step": effect.step, "iteration": (session or {}).get("iteration")})
        turn = await self._turn(run, effect, guard, feed)
        value = msgspec.to_builtins(turn)
        if before is not None:
            value |= await self._done(run, before)
            value["promised"] = self._promised(run, effect)
            await self._hear_out(run, effect)
        feed(
            "turn_ended", {**_shown(turn), "step": effect.step, "files": value.get("filesModified")}
        )
        changed = await self._control.changed(control)
        error = turn.error
        if changed:
            value["gitChanged"] = changed
            error = error or control_told(changed)

        def ended(tx: Transaction) -> None:
            self._control.end(tx, run, changed)

        if error is not None and args.get("check", True):
            return Resolution(ERROR, value, error, also=ended)
        return Resolution(OK, value, also=ended)

    async def _turn(
        self, run: Run, effect: JournalEffect, guard: Any, feed: Callable[..., None]
    ) -> AgentTurn:
        args, executor = effect.args, self._executor
        session = args.get("session") or {}
        begun = executor.beginning(run, effect, guard)
        with self._around.store.read() as view:
            renew_task_file(view, run)
        env = {**executor.environment(run, effect), **_session_environment(session)}

        def tell(event: AgentEvent) -> None:
            feed("agent", msgspec.to_builtins(event))

        request = TurnRequest(
            prompt=args["prompt"],
            env=env,
            timeout=float(effect.policy.get("timeout", DEFAULT_TIMEOUT)),
            cwd=self._folder(run),
            conversation=args.get("conversation"),
            opening=args.get("opening", ""),
            max_turns=args.get("maxTurns"),
            tools=self._around.tools(env) if session else None,
            purpose=purpose_of(run, effect),
            on_start=begun.born,
            on_conversation=begun.talks,
            on_event=tell,
        )
        return await self._around.agents.turn(args.get("agent"), request)

    def _promised(self, run: Run, effect: JournalEffect) -> list[dict[str, Any]]:
        """What the agent promised through a tool during its turn."""
        with self._around.store.read() as view:
            events = view.log.events(
                node_id=run.run_id, types=(PROMISE,), after=effect.requested_seq
            )
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
        """What a turn's completed tasks make hooks say belongs into the next prompt."""
        piped = {h.name for h in self._around.standing.anyones(TASK_DONE) if h.pipe_output}
        waited = 0.0
        while piped and waited < LONGEST_TELLING and self._untold(run, effect, piped):
            await asyncio.sleep(GLANCE)
            waited += GLANCE

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
        after = await work.state(root)
        # Until a hook or a rule runs, nobody else is known to have touched the files.
        self._states[run.run_id] = after
        if after.error is not None:
            notice = AgentEvent(type="notice", text=after.error)
            self._around.feed(run.run_id)("agent", msgspec.to_builtins(notice))
        files = await work.between(root, before, after)
        return {"filesModified": files, "fingerprint": after.fingerprint}

    # Hook points

    async def hook(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        """Fire a hook point; the one answer of its hooks."""
        point = effect.args["point"]
        check_payload(point, effect.args["payload"])
        hooks = self.hooks(effect)
        if any(map(runs_programs, hooks)):
            self._states.pop(run.run_id, None)
        elif not self.registered(effect):
            return await self._answer(run, effect, guard, hooks)
        found, changed = await self._control.watch(
            run, guard, lambda: self._answer(run, effect, guard, hooks)
        )
        if changed and rule_of(point) == GATE:
            told = control_told(changed, "while gates ran")
            refused = {"status": "failure", "message": told, "remediationPrompt": None}
            return msgspec.structs.replace(found, value={**found.value, **refused, "hook": None})
        return found

    async def _answer(
        self, run: Run, effect: JournalEffect, guard: Any, hooks: list[Hook]
    ) -> Resolution:
        point, records = effect.args["point"], Records()
        called = await self._fire(run, effect, guard, hooks, records)
        if rule_of(point) == GATE:
            value = self._gate_answer(run, effect, guard, called)
            if value["status"] == "failure":
                folder = effect.args["payload"]["worktree"]
                value["commands"] = await commands_of(hooks, folder, self._around)
            await self._reports.tell(run, effect, called, value)
            return Resolution(OK, value, also=records.write)
        if rule_of(point) == DECIDE:
            value = await self._decide(run, effect, guard, decide(called), records)
            return Resolution(OK, value, also=records.write)
        answer = RULES[rule_of(point)].fold(called)
        if rule_of(point) == FEED:
            said = [_piped(hook, outcome, point) for hook, outcome in called]
            items = [each for each in said if each is not None and not _is_held(point, each)]
            value = {"text": answer.text, "items": items, "nonce": new_word()}
            return Resolution(OK, value, also=records.write)
        return Resolution(OK, msgspec.to_builtins(answer), also=records.write)

    def _gate_answer(
        self, run: Run, effect: JournalEffect, guard: Any, called: list[Called]
    ) -> dict[str, Any]:
        """The one answer of gates; where none stands, that is on record."""
        payload, passed = effect.args["payload"], sorted(self._left_out(effect))
        if not called and not passed:
            name = f"{run.run_id}/{effect.effect_id}"
            data = {"point": effect.args["point"], "name": name, "autoAccepted": True}

            def accepted(tx: Transaction) -> None:
                guard(tx)
                tx.append(FIRED, payload["task_id"], data)

            self._around.change(accepted)
        return gate_answer(called, passed)

    async def _decide(
        self,
        run: Run,
        effect: JournalEffect,
        guard: Any,
        configured: StopDecision,
        records: Records,
    ) -> dict[str, Any]:
        """The decision of both groups: the configured hooks, and those that the agent brought."""
        own, registered = self.registered(effect), None
        if own:
            called = await self._fire(run, effect, guard, own, records, name=" registered")
            registered = decide(called)
        return dict(msgspec.to_builtins(_bounded(both(configured, registered))))

    def hooks(self, effect: JournalEffect) -> list[Hook]:
        """The hooks that an effect calls."""
        around, point, payload = self._around, effect.args["point"], effect.args["payload"]
        if problems_of(point, payload):
            return []
        named = payload.get("agent") or payload.get("agent_name")
        agent = named if isinstance(named, str) else None
        found = around.standing.hooks_at(point, agent=agent, task_type=self._type_of(payload))
        left_out = self._left_out(effect)
        if rule_of(point) in EVENT_RULES:
            left_out |= {hook.name for hook in found if hook.kind == "built-in"}
        if rule_of(point) == GATE and payload.get("extra", {}).get("skip_pr"):
            left_out |= {hook.name for hook in found if hook.target in OF_PULL_REQUESTS}
        return [hook for hook in around.recorder.enabled(found) if hook.name not in left_out]

    def _left_out(self, effect: JournalEffect) -> set[str]:
        """The gates that are not asked: they have passed, or a person overrides them."""
        left_out = set(effect.args.get("skip", ()))
        if rule_of(effect.args["point"]) == GATE:
            with self._around.store.read() as view:
                found = overrides(view, effect.args["payload"]["task_id"])
            left_out |= {each.hook for each in found}
        return left_out

    def _type_of(self, payload: dict[str, Any]) -> str | None:
        """The type of the task that a point is about; a session names its task alone."""
        known, task_id = payload.get("task_type"), payload.get("taskId")
        if known or not isinstance(task_id, str) or not self._around.standing.of_types:
            return known
        with self._around.store.read() as view:
            task = task_of(view.graph, task_id)
        return task.type if task else None

    def registered(self, effect: JournalEffect) -> list[Hook]:
        """The hooks that an agent brought for the decision that an effect makes."""
        task = effect.args["payload"].get("taskId")
        if not task or rule_of(effect.args["point"]) != DECIDE:
            return []
        with self._around.store.read() as view:
            found = registrations.registered(view.log, task)
        return self._around.recorder.enabled([hook_of(each) for each in found])

    async def _fire(
        self,
        run: Run,
        effect: JournalEffect,
        guard: Any,
        hooks: list[Hook],
        records: Records,
        name: str = "",
    ) -> list[Called]:
        point = effect.args["point"]

        def held(tx: Transaction, event: Event, hook: Hook, outcome: Outcome) -> None:
            said = _piped(hook, outcome, point)
            if said is not None and _is_held(point, said):
                tx.sessions.hold(run.run_id, HeldOutput(event.seq, hook.name, point, said["text"]))

        payload, event = effect.args["payload"], None
        if rule_of(point) == REACT:
            with self._around.store.read() as view:
                payload, event = as_event(view, run, effect)
        # Verdicts on a task's work stand with the task.
        node = payload["task_id"] if rule_of(point) == GATE else run.run_id
        firing = Firing(
            point,
            payload,
            node,
            f"{run.run_id}/{run.chapter}/{effect.effect_id}{name}",
            lambda hook: self._executor.hook_key(run, effect, hook),
            after=effect.requested_seq,
            guard=guard,
            on_record=held,
            observe=self._around.feed(run.run_id),
            later=records.append,
            event=event,
        )
        return await fire(self._around.recorder, firing, hooks)

    # Validation, and what was done

    async def validate(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        """Run validation rules; with a base, also what was done since, and whether it is stable."""
        found, _ = await self._control.watch(run, guard, lambda: self._validate(run, effect))
        return found

    async def _validate(self, run: Run, effect: JournalEffect) -> Resolution:
        around, args = self._around, effect.args
        feed = around.feed(run.run_id)
        env = {**self._executor.environment(run, effect), **_session_environment(args["session"])}
        self._states.pop(run.run_id, None)
        folder = self._folder(run)
        before = await around.work.state(folder) if args["base"] else None
        rules = msgspec.convert(args["rules"], list[Rule])
        world = ValidationWorld(
            folder,
            around.processes,
            env,
            verify=lambda line: around.verify_line(line, folder),
        )
        feed("validation_started", {"rules": [rule.name for rule in rules]})
        results = await validate(rules, world, args["output"])
        value: dict[str, Any] = {"results": msgspec.to_builtins(results)}
        feed("validation_ended", value)
        if before is not None:
            after = await around.work.state(folder)
            tree = await self._tree(run, args["base"])
            value["work"] = {**tree, "stable": after.fingerprint == before.fingerprint}
        return Resolution(OK, value)

    async def work(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        """The content of the folder as a tree."""
        return Resolution(OK, await self._tree(run, effect.args["base"]))

    def _folder(self, run: Run) -> str:
        """Where the agent of a run works: the worktree of its task, or the project's root."""
        return str(run.input.get("worktree") or self._around.root)

    async def _tree(self, run: Run, base: str | None) -> dict[str, Any]:
        return dict(msgspec.to_builtins(await self._around.work.tree(self._folder(run), base)))


def _bounded(decision: StopDecision) -> StopDecision:
    """A decision whose words are fit to be shown, and to be kept from chapter to chapter."""
    found: StopDecision = msgspec.structs.replace(
        decision,
        reason=prompts.one_line(decision.reason, LONGEST_REASON),
        next_prompt=prompts.capped(decision.next_prompt) if decision.next_prompt else None,
    )
    return found


def _session_environment(session: dict[str, Any]) -> dict[str, str]:
    if not session:
        return {}
    return {
        "HOOKLINE_SESSION": session["name"],
        "HOOKLINE_ITERATION": str(session["iteration"]),
        "HOOKLINE_TASK_ID": session["task"],
    }


def _piped(hook: Hook, outcome: Outcome, point: str) -> dict[str, Any] | None:
    text = prompts.capped(fed_text(outcome)) if hook.pipe_output else ""
    if not text:
        return None
    deliver = hook.metadata.get("deliver", "next")
    return {"hook": hook.name, "point": point, "text": text, "deliver": deliver}


def _is_held(point: str, said: dict[str, Any]) -> bool:
    return point in HELD and said["deliver"] != "now"


def _shown(turn: AgentTurn) -> dict[str, Any]:
    """What a person who watches is told about a turn."""
    return {
        "error": turn.error,
        "tools": turn.tools,
        "usage": msgspec.to_builtins(turn.usage),
        "wait": msgspec.to_builtins(turn.wait) if turn.wait else None,
    }
