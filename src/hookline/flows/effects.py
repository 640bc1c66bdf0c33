"""Carrying out effects: each kind's way, with limits, timeouts and retries."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.digest import sha256
from hookline.domain.records import Action
from hookline.domain.runs import ERROR, OK, Resolution, effect_key
from hookline.domain.tasks import task_number
from hookline.errors import HooklineError, StoreError
from hookline.flows import journal
from hookline.flows.gated import Gated
from hookline.flows.outcomes import Temporary
from hookline.flows.outward import Outward
from hookline.hooks.actions import perform
from hookline.hooks.calls.settle import note_start
from hookline.hooks.kinds.program import MAX_ANSWER, json_object, whole_output
from hookline.ports.processes import CannotStart
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.registry import Hook
    from hookline.hooks.standing import Standing
    from hookline.ports.agents import Agents, ToolServer
    from hookline.ports.processes import Finished, Processes, ProcessGroup
    from hookline.ports.store import Blobs, Store, Transaction
    from hookline.ports.trust import MergeTrust
    from hookline.ports.work import Forge, Repository, Work

DEFAULT_TIMEOUT = 3600.0
DEFAULT_RETRIES = 2
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 300.0
TEMPORARY_EXIT = 75
KILLED_EXIT = 137


class Limits(NamedTuple):
    """How many effects of a kind run at once, and how many may begin in a minute."""

    concurrency: Mapping[str, int]
    per_minute: Mapping[str, float]


async def _nothing_to_verify() -> None:
    """Everything is trusted."""


def _nobody_watches(what: str, details: dict[str, Any]) -> None:
    """Nobody is told."""


class Surroundings(NamedTuple):
    """What effects need around them.

    `tools` is the server of our own tools that an agent of a session is offered; `feed` tells
    those who watch a run what happens in it. `verify_line` raises Untrusted for a shell line that
    would run something else in a folder than what was trusted. `is_current` is whether the
    configuration is still the one that this process began with; `merge_trust` compares what a merge
    brings with what was trusted, None where nothing has to be; `configuration_errors` are those of
    the project in a checkout.
    """

    root: str
    folder: str
    store: Store
    store_id: str
    blobs: Blobs
    environ: Mapping[str, str]
    processes: Processes
    standing: Standing
    recorder: Recorder
    agents: Agents
    work: Work
    change: Callable[..., Any]
    verify: Callable[[], Awaitable[None]] = _nothing_to_verify
    repository: Repository | None = None
    forge: Callable[[], Forge] | None = None
    tools: Callable[[Mapping[str, str]], ToolServer | None] = lambda env: None
    feed: Callable[[str], Callable[[str, dict[str, Any]], None]] = lambda run_id: _nobody_watches
    verify_line: Callable[[str, str], None] = lambda line, folder: None
    is_current: Callable[[], bool] = lambda: True
    merge_trust: Callable[[], MergeTrust | None] = lambda: None
    configuration_errors: Callable[[str], list[str]] = lambda folder: []
    clean: Callable[[Any], Any] = lambda value: value


class Executor:
    """Carries out effects of all kinds for one process."""

    def __init__(self, around: Surroundings, limits: Limits) -> None:
        self.around = self._around = around
        self._outward = Outward(self)
        self._processes = Gated(around.processes)
        self._limits = limits
        self._slots = {kind: asyncio.Semaphore(n) for kind, n in limits.concurrency.items()}
        self._next_start: dict[str, float] = {}
        self._kinds: dict[str, Callable[[Run, JournalEffect, Any], Awaitable[Any]]] = {
            "node": self._node,
            "call": self._call,
            "agent": self._outward.agent,
            "hook": self._outward.hook,
            "validate": self._outward.validate,
            "work": self._outward.work,
            "repo": self._repo,
            "task": self._task,
            "update_task": self._update_task,
        }

    async def execute(
        self,
        run: Run,
        effect: JournalEffect,
        guard: Callable[[Transaction], None],
        begun: Callable[[], None] = lambda: None,
    ) -> Resolution | None:
        """Carry an effect out; None when it waits for something, or will be tried again.

        `begun` is called when it is its turn under the limits, and work begins.
        """
        effect = journal.with_arguments(effect, self._around.blobs)
        async with self._slot(effect.kind):
            await self._wait_for_rate(effect.kind)
            begun()
            # Outside of what is a failure of the effect: a run whose files changed is parked.
            await self._around.verify()
            try:
                value = await self._kinds[effect.kind](run, effect, guard)
            except Temporary as problem:
                return self._again(run, effect, guard, str(problem))
            except StoreError:  # says nothing about the effect
                raise
            except HooklineError as problem:
                value = Resolution(ERROR, error=problem.message)
        # Git's words come exactly as they are; a result that is kept must not.
        return None if value is _WAITS else self._around.clean(value)

    def keys(self, run: Run, effect: JournalEffect) -> list[str]:
        """The idempotency keys of processes that may work on an effect without being recorded."""
        if effect.kind == "hook":
            effect = journal.with_arguments(effect, self._around.blobs)
            hooks = [*self._outward.hooks(effect), *self._outward.registered(effect)]
            return [self.hook_key(run, effect, hook) for hook in hooks]
        if effect.kind == "repo":
            return [self.key(run, effect), self.test_key(run, effect)]
        return [self.key(run, effect)] if effect.kind in ("agent", "validate") else []

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

    async def _repo(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        from hookline.flows.repo_effects import RepoEffects  # few flows touch the repository

        return await RepoEffects(self).repo(run, effect, guard)

    async def _node(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        args = effect.args
        done = await self._start(
            ("/bin/sh", "-c", args["command"]), run, effect, guard, env=args.get("env", {})
        )
        value = _output(done)
        _check_temporary(f"`{effect.command}`", done)
        if done.exit_code and args.get("check", True):
            error = f"`{effect.command}` exited {done.exit_code}{_last_line(done)}"
            return Resolution(ERROR, value, error)
        return Resolution(OK, value)

    async def _call(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        argv = (sys.executable, "-P", "-m", "hookline.pyhook", "call", effect.args["function"])
        given = {"args": effect.args["args"], "kwargs": effect.args["kwargs"]}
        done = await self._start(argv, run, effect, guard, stdin=msgspec.json.encode(given))
        _check_temporary(effect.args["function"], done)
        message = json_object(whole_output(done))
        if message is None:
            wrong = f"it ended with exit code {done.exit_code}, no result"
            if done.stdout_bytes > MAX_ANSWER:
                wrong = f"its result of {done.stdout_bytes} bytes is too long"
            return Resolution(ERROR, error=wrong)
        if "error" in message:
            return Resolution(ERROR, error=message["error"])
        return Resolution(OK, message["answer"])

    async def _task(self, run: Run, effect: JournalEffect, guard: Any) -> object:
        given = {k: v for k, v in effect.args.items() if v is not None and k != "goal"}
        given["task_type"] = given.pop("type", None)

        def add(tx: Transaction) -> None:
            guard(tx)
            self.note_attempt(tx, run, effect)
            if tx.runs.effect(run, effect.effect_id).task is None:
                task = verbs.add(tx, effect.args["goal"], **given)
                tx.runs.bind_task(run, effect.effect_id, task_number(task.id))

        self._around.change(add)
        return _WAITS

    async def _update_task(self, run: Run, effect: JournalEffect, guard: Any) -> object:
        def update(tx: Transaction) -> None:
            guard(tx)
            self.note_attempt(tx, run, effect)
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
                env={**(env or {}), **self.environment(run, effect)},
                timeout=timeout,
                stdin=stdin,
                on_start=self.beginning(run, effect, guard).born,
            )
        except CannotStart as problem:
            raise HooklineError(str(problem)) from problem
        if done.timed_out:
            raise Temporary(f"timed out after {timeout:g} s")
        return done

    def note_attempt(self, tx: Transaction, run: Run, effect: JournalEffect) -> None:
        """Write that an attempt at an effect begins."""
        tx.runs.begin_attempt(run, effect.effect_id)
        note_start(tx, self._around.standing.registry, run, effect)

    def beginning(self, run: Run, effect: JournalEffect, guard: Any) -> Beginning:
        """How the process of an effect is written down."""
        return Beginning(self, run, effect, guard)

    def key(self, run: Run, effect: JournalEffect) -> str:
        """The idempotency key of an effect."""
        return effect_key(self._around.store_id, run, effect.effect_id)

    def hook_key(self, run: Run, effect: JournalEffect, hook: Hook) -> str:
        """The idempotency key of a hook's call."""
        return self._plain_key(run, effect, hook.name)

    def test_key(self, run: Run, effect: JournalEffect) -> str:
        """The idempotency key of the tests of a merged result."""
        return self._plain_key(run, effect, "gates.test")

    def _plain_key(self, run: Run, effect: JournalEffect, name: str) -> str:
        """Names may hold marks that no id may; this key is safe in every shell line."""
        part = sha256(f"{effect.effect_id}:{name}".encode()).hexdigest()[:16]
        return effect_key(self._around.store_id, run, part)

    def environment(self, run: Run, effect: JournalEffect) -> dict[str, str]:
        """What programs of an effect find in their environment."""
        return {
            **self._around.environ,
            "HOOKLINE_DIR": self._around.folder,
            "HOOKLINE_PROJECT": self._around.root,
            "HOOKLINE_RUN_ID": run.run_id,
            "HOOKLINE_DEPTH": str(journal.depth_of(run)),
            "HOOKLINE_EFFECT_ID": effect.effect_id,
            "HOOKLINE_IDEMPOTENCY_KEY": self.key(run, effect),
        }


class Beginning:
    """Writes down that an attempt begins, who works on it, and in which conversation.

    What is known when the process starts is stored together with it.
    """

    def __init__(self, executor: Executor, run: Run, effect: JournalEffect, guard: Any) -> None:
        self._executor = executor
        self._run = run
        self._effect = effect
        self._guard = guard
        self._conversation: str | None = None
        self._begun = False

    def born(self, group: ProcessGroup) -> None:
        """The process is there and waits to be let go."""
        child = msgspec.json.encode(group).decode()

        def store(tx: Transaction) -> None:
            if not self._begun:
                self._executor.note_attempt(tx, self._run, self._effect)
            tx.runs.set_child(self._run, self._effect.effect_id, child)
            self._set_conversation(tx)

        self._store(store)
        self._begun = True

    def talks(self, conversation: str) -> None:
        """The agent's conversation has a name."""
        self._conversation = conversation
        if self._begun:
            self._store(self._set_conversation)

    def _set_conversation(self, tx: Transaction) -> None:
        if self._conversation is not None:
            tx.runs.set_conversation(self._run, self._effect.effect_id, self._conversation)

    def _store(self, write: Callable[[Transaction], None]) -> None:
        def guarded(tx: Transaction) -> None:
            self._guard(tx)
            write(tx)

        self._executor.around.change(guarded)


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
