"""Carrying out effects: each kind's way, with limits, timeouts and retries."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.digest import sha256
from hookline.domain.records import Action, Outcome
from hookline.domain.runs import ERROR, OK, Resolution, effect_key
from hookline.domain.tasks import task_number
from hookline.errors import HooklineError, StoreError
from hookline.flows import journal
from hookline.hooks.actions import perform
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, rule_of
from hookline.hooks.kinds.program import MAX_ANSWER, whole_output
from hookline.hooks.rules import RULES
from hookline.hooks.settle import note_start
from hookline.ports import CannotStart
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.call import Caller
    from hookline.hooks.registry import Hook, HookRegistry
    from hookline.ports import Agents, Blobs, Finished, Processes, ProcessGroup, Store, Transaction

DEFAULT_TIMEOUT = 3600.0
DEFAULT_RETRIES = 2
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 300.0
TEMPORARY_EXIT = 75
KILLED_EXIT = 137
_GATE = ("/bin/sh", "-c", 'read -r go || exit 125; exec "$@"', "sh")


class Temporary(Exception):
    """It may work if it is tried again."""


class Limits(NamedTuple):
    """How many effects of a kind run at once, and how many may begin in a minute."""

    concurrency: Mapping[str, int]
    per_minute: Mapping[str, float]


class Surroundings(NamedTuple):
    """What effects need around them."""

    root: str
    folder: str
    store: Store
    store_id: str
    blobs: Blobs
    environ: Mapping[str, str]
    processes: Processes
    caller: Caller
    registry: HookRegistry
    agents: Agents
    change: Callable[..., Any]
    suspended: Callable[[str], str | None]
    verify: Callable[[], None] = lambda: None


class Gated:
    """Programs that begin their work only once their process group is stored.

    They wait for a line on stdin, which is written after `on_start`. If this process dies before,
    they see the end of stdin instead and end too: nobody is left whom a successor cannot find.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        stdin: bytes = b"",
        on_start: Callable[[ProcessGroup], None] | None = None,
    ) -> Finished:
        """Run a program to its end or its deadline; then nothing of its group is left."""
        return await self._processes.run(
            (*_GATE, *argv),
            cwd=cwd,
            env=env,
            timeout=timeout,
            stdin=b"\n" + stdin,
            on_start=on_start,
        )


class Executor:
    """Carries out effects of all kinds for one process."""

    def __init__(self, around: Surroundings, limits: Limits) -> None:
        self._around = around
        self._processes = Gated(around.processes)
        self._limits = limits
        self._slots = {kind: asyncio.Semaphore(n) for kind, n in limits.concurrency.items()}
        self._next_start: dict[str, float] = {}
        self._kinds: dict[str, Callable[[Run, JournalEffect, Any], Awaitable[Any]]] = {
            "node": self._node,
            "call": self._call,
            "agent": self._agent,
            "hook": self._hook,
            "task": self._task,
            "update_task": self._update_task,
        }

    async def execute(
        self, run: Run, effect: JournalEffect, guard: Callable[[Transaction], None]
    ) -> Resolution | None:
        """Carry an effect out; None when it waits for something, or will be tried again."""
        async with self._slot(effect.kind):
            await self._wait_for_rate(effect.kind)
            # Outside of what is a failure of the effect: a run whose files changed is parked.
            self._around.verify()
            try:
                value = await self._kinds[effect.kind](run, effect, guard)
            except Temporary as problem:
                return self._again(run, effect, guard, str(problem))
            except StoreError:  # says nothing about the effect
                raise
            except HooklineError as problem:
                return Resolution(ERROR, error=problem.message)
        return None if value is _WAITS else value

    def keys(self, run: Run, effect: JournalEffect) -> list[str]:
        """The idempotency keys of processes that may work on an effect without being recorded."""
        if effect.kind == "hook":
            hooks = self._around.registry.subscribers(effect.args["point"])
            return [self._hook_key(run, effect, hook) for hook in hooks]
        return [self._key(run, effect)] if effect.kind == "agent" else []

    def _slot(self, kind: str) -> Any:
        return self._slots.get(kind) or _Free()

    async def _wait_for_rate(self, kind: str) -> None:
        rate = self._limits.per_minute.get(kind)
        if not rate:
            return
        now = time.monotonic()
        begin = max(now, self._next_start.get(kind, 0.0))
        self._next_start[kind] = begin + 60.0 / rate
        await asyncio.sleep(begin - now)

    def _again(self, run: Run, effect: JournalEffect, guard: Any, error: str) -> Resolution | None:
        retries = int(effect.policy.get("retries", DEFAULT_RETRIES))

        def postpone(tx: Transaction) -> Resolution | None:
            guard(tx)
            made = tx.runs.effect(run, effect.effect_id).attempts
            if made > retries:
                return Resolution(ERROR, error=f"{error} (after {made} attempts)")
            pause = min(FIRST_BACKOFF * 2 ** max(made - 1, 0), LONGEST_BACKOFF)
            tx.runs.postpone(run, effect.effect_id, time.time() + pause)
            return None

        result: Resolution | None = self._around.change(postpone)
        return result

    # The kinds

    async def _node(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        args = effect.args
        done = await self._start(
            ("/bin/sh", "-c", args["command"]), run, effect, guard, env=args.get("env", {})
        )
        value = _output(done)
        _check_temporary(f"`{args['command']}`", done)
        if done.exit_code and args.get("check", True):
            error = f"`{args['command']}` exited {done.exit_code}{_last_line(done)}"
            return Resolution(ERROR, value, error)
        return Resolution(OK, value)

    async def _call(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        argv = (sys.executable, "-P", "-m", "hookline.pyhook", "call", effect.args["function"])
        given = {"args": effect.args["args"], "kwargs": effect.args["kwargs"]}
        done = await self._start(argv, run, effect, guard, stdin=msgspec.json.encode(given))
        _check_temporary(effect.args["function"], done)
        try:
            message = msgspec.json.decode(whole_output(done) or "")
        except msgspec.DecodeError:
            wrong = f"it ended with exit code {done.exit_code}, no result"
            if done.stdout_bytes > MAX_ANSWER:
                wrong = f"its result of {done.stdout_bytes} bytes is too long"
            return Resolution(ERROR, error=wrong)
        if "error" in message:
            return Resolution(ERROR, error=message["error"])
        return Resolution(OK, message["answer"])

    async def _agent(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        def began(conversation: str) -> None:
            def store(tx: Transaction) -> None:
                guard(tx)
                tx.runs.set_conversation(run, effect.effect_id, conversation)

            self._around.change(store)

        self._begin(run, effect, guard)
        turn = await self._around.agents.turn(
            effect.args.get("agent"),
            effect.args["prompt"],
            env=self._environment(run, effect),
            timeout=float(effect.policy.get("timeout", DEFAULT_TIMEOUT)),
            on_start=self._born(run, effect, guard),
            on_conversation=began,
        )
        if turn.error is not None:
            return Resolution(ERROR, msgspec.to_builtins(turn), turn.error)
        return Resolution(OK, msgspec.to_builtins(turn))

    async def _hook(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        around = self._around
        self._begin(run, effect, guard)
        point, payload = effect.args["point"], effect.args["payload"]
        rule = RULES[rule_of(point)]
        with around.store.read() as view:
            switches = view.calls.switches()
        hooks = [h for h in around.registry.subscribers(point) if switches.get(h.name, h.enabled)]

        async def call(hook: Hook, given: Any) -> Outcome:
            reason = around.suspended(hook.name)
            if reason is not None:
                return Outcome(hook.name, "skipped", None, reason)
            frame = Frame(point, rule, given, self._hook_key(run, effect, hook))
            return await around.caller.call(hook, frame, self._born(run, effect, guard))

        answer = await dispatch(rule, hooks, payload, call)
        return Resolution(OK, msgspec.to_builtins(answer))

    async def _task(self, run: Run, effect: JournalEffect, guard: Any) -> object:
        given = {k: v for k, v in effect.args.items() if v is not None and k != "goal"}
        given["task_type"] = given.pop("type", None)

        def add(tx: Transaction) -> None:
            guard(tx)
            self._note_attempt(tx, run, effect)
            if tx.runs.effect(run, effect.effect_id).task is None:
                task = verbs.add(tx, effect.args["goal"], **given)
                tx.runs.bind_task(run, effect.effect_id, task_number(task.id))

        self._around.change(add)
        return _WAITS

    async def _update_task(self, run: Run, effect: JournalEffect, guard: Any) -> object:
        def update(tx: Transaction) -> None:
            guard(tx)
            self._note_attempt(tx, run, effect)
            with tx.nested():
                perform(tx, Action("update_task", effect.args))
            done = Resolution(OK, {"taskId": effect.args["taskId"]})
            journal.resolve(tx, run, effect.effect_id, done, self._around.blobs)

        self._around.change(update)
        return _WAITS

    # What they share

    async def _start(
        self,
        argv: tuple[str, ...],
        run: Run,
        effect: JournalEffect,
        guard: Any,
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Finished:
        timeout = float(effect.policy.get("timeout", DEFAULT_TIMEOUT))
        try:
            done = await self._processes.run(
                argv,
                cwd=self._around.root,
                env={**(env or {}), **self._environment(run, effect)},
                timeout=timeout,
                stdin=stdin,
                on_start=self._born(run, effect, guard, begins=True),
            )
        except CannotStart as problem:
            raise HooklineError(str(problem)) from problem
        if done.timed_out:
            raise Temporary(f"no end after {timeout:g} s; it was killed")
        return done

    def _begin(self, run: Run, effect: JournalEffect, guard: Any) -> None:
        def begin(tx: Transaction) -> None:
            guard(tx)
            self._note_attempt(tx, run, effect)

        self._around.change(begin)

    def _note_attempt(self, tx: Transaction, run: Run, effect: JournalEffect) -> None:
        tx.runs.begin_attempt(run, effect.effect_id)
        note_start(tx, self._around.registry, run, effect)

    def _born(
        self, run: Run, effect: JournalEffect, guard: Any, *, begins: bool = False
    ) -> Callable[[ProcessGroup], None]:
        def note(group: ProcessGroup) -> None:
            def store(tx: Transaction) -> None:
                guard(tx)
                if begins:
                    self._note_attempt(tx, run, effect)
                tx.runs.set_child(run, effect.effect_id, msgspec.json.encode(group).decode())

            self._around.change(store)

        return note

    def _key(self, run: Run, effect: JournalEffect) -> str:
        return effect_key(self._around.store_id, run, effect.effect_id)

    def _hook_key(self, run: Run, effect: JournalEffect, hook: Hook) -> str:
        """Names may hold marks that no id may; this key is safe in every shell line."""
        part = sha256(f"{effect.effect_id}:{hook.name}".encode()).hexdigest()[:16]
        return effect_key(self._around.store_id, run, part)

    def _environment(self, run: Run, effect: JournalEffect) -> dict[str, str]:
        return {
            **self._around.environ,
            "HOOKLINE_DIR": self._around.folder,
            "HOOKLINE_PROJECT": self._around.root,
            "HOOKLINE_RUN_ID": run.run_id,
            "HOOKLINE_DEPTH": str(journal.depth_of(run)),
            "HOOKLINE_EFFECT_ID": effect.effect_id,
            "HOOKLINE_IDEMPOTENCY_KEY": self._key(run, effect),
        }


_WAITS = object()


class _Free:
    """No limit."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *details: object) -> None:
        return None


def _check_temporary(what: str, done: Finished) -> None:
    """A program that asks for it, or that someone killed, is tried again."""
    if done.exit_code == TEMPORARY_EXIT:
        raise Temporary(f"{what} exited {TEMPORARY_EXIT}: try again")
    if done.exit_code < 0 or done.exit_code == KILLED_EXIT:
        raise Temporary(f"{what} was killed (exit code {done.exit_code})")


def _output(done: Finished) -> dict[str, Any]:
    value: dict[str, Any] = {
        "exitCode": done.exit_code,
        "stdout": done.stdout,
        "stderr": done.stderr,
    }
    if done.blob:
        value["blob"] = done.blob
    return value


def _last_line(done: Finished) -> str:
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return f": {said[-1][:300]}" if said else ""
