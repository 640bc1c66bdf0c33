"""Carries out effects, with limits and retries; the kinds that every flow has."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import msgspec

from hookline.domain.hooks.records import Action
from hookline.domain.runs.model import (
    ERROR,
    OK,
    Caller,
    JournalEffect,
    Resolution,
    Run,
)
from hookline.domain.tasks import task_number
from hookline.domain.timestamps import doubled, seconds
from hookline.errors import HooklineError, StoreError
from hookline.flows import journal
from hookline.flows.attempt import Attempt, Surroundings
from hookline.flows.outcomes import Temporary
from hookline.hooks.actions import perform
from hookline.hooks.calls.program import MAX_ANSWER, json_object, whole_output
from hookline.ports.processes import CannotStart, Dialogue, Finished, Processes, StartOptions
from hookline.programs import own_program
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from hookline.ports.store import Transaction


_GATE = ("/bin/sh", "-c", 'read -r go || exit 125; exec "$@"', "sh")


class Gated:
    """Programs that start working only once their process group is stored.

    They wait for a line on stdin, which is written after `on_start`. If this process dies before,
    they see the end of stdin instead and exit too: no process runs unrecorded.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
        **how: Unpack[StartOptions],
    ) -> Finished:
        gated = (*_GATE, *argv)
        return await self._processes.run(gated, stdin=b"\n" + stdin, on_output=on_output, **how)

    @asynccontextmanager
    async def dialogue(
        self, argv: Sequence[str], *, line_limit: int, **how: Unpack[StartOptions]
    ) -> AsyncIterator[Dialogue]:
        gated = (*_GATE, *argv)
        async with self._processes.dialogue(gated, line_limit=line_limit, **how) as dialogue:
            dialogue.writer.write(b"\n")
            yield dialogue


DEFAULT_TIMEOUT = 3600.0
DEFAULT_RETRIES = 2
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 300.0
TEMPORARY_EXIT = 75
KILLED_EXIT = 137


class EffectLimits(NamedTuple):
    """How many effects of a kind run at once, and how many may start in a minute."""

    concurrency: Mapping[str, int]
    per_minute: Mapping[str, float]


class EffectKind(NamedTuple):
    """How effects of one kind are carried out; None is the result of one that waits.

    `keys` are the idempotency keys of processes that may work on one without being recorded. `cut`
    is the result of one that a person interrupted; None if it continues anyway, as an effect may
    that was requested after the interruption's position in the log.
    """

    carry_out: Callable[[Attempt], Awaitable[Resolution | None]]
    keys: Callable[[Attempt], list[str]] = lambda attempt: []
    cut: Callable[[JournalEffect, int], Resolution | None] = lambda effect, asked: None


class Executor:
    """Carries out effects of all kinds for one process."""

    def __init__(
        self, around: Surroundings, limits: EffectLimits, kinds: Mapping[str, EffectKind]
    ) -> None:
        self.around = around
        self._limits = limits
        self._slots = {kind: asyncio.Semaphore(n) for kind, n in limits.concurrency.items()}
        self._next_start: dict[str, float] = {}
        self._kinds = {**_basic_kinds(around), **kinds}

    async def execute(
        self,
        run: Run,
        effect: JournalEffect,
        guard: Callable[[Transaction], None],
        begun: Callable[[], None] = lambda: None,
    ) -> Resolution | None:
        """Carry out an effect; None if it waits for something, or will be tried again.

        `begun` is called when the limits let it start.
        """
        attempt = Attempt(self.around, run, self._whole(effect), guard)
        async with self._slots.get(effect.kind) or nullcontext():
            await self._wait_for_rate(effect.kind)
            begun()
            # Not a failure of the effect: a run whose files changed is parked.
            await self.around.verify()
            if (clone := self.around.clone) is not None:
                await clone.enter(attempt)
            try:
                value = await self._kinds[effect.kind].carry_out(attempt)
                if value is not None and clone is not None:
                    value = await clone.leave(attempt, value)
            except Temporary as problem:
                return _again(attempt, str(problem))
            except StoreError:  # says nothing about the effect
                raise
            except HooklineError as problem:
                value = Resolution(ERROR, error=problem.message)
        # Git's output is exact; a stored result has to be cleaned.
        return None if value is None else self.around.clean(value)

    def keys(self, run: Run, effect: JournalEffect) -> list[str]:
        """The idempotency keys of processes that may work on an effect without being recorded."""
        kind = self._kinds.get(effect.kind)
        return kind.keys(Attempt(self.around, run, self._whole(effect))) if kind else []

    def cut(self, effect: JournalEffect, asked: int) -> Resolution | None:
        """The result of an effect that a person interrupted; None for those that continue."""
        return self._kinds[effect.kind].cut(effect, asked)

    def _whole(self, effect: JournalEffect) -> JournalEffect:
        return journal.with_arguments(effect, self.around.blobs)

    async def _wait_for_rate(self, kind: str) -> None:
        rate = self._limits.per_minute.get(kind)
        if not rate:
            return
        now = time.monotonic()
        begin = max(now, self._next_start.get(kind, 0.0))
        self._next_start[kind] = begin + 60.0 / rate
        await asyncio.sleep(begin - now)


def _again(attempt: Attempt, error: str) -> Resolution | None:
    """Schedule another try after a failed attempt; the result, if it was the last one."""
    run, effect = attempt.run, attempt.effect
    retries = int(effect.policy.get("retries", DEFAULT_RETRIES))

    def postpone(tx: Transaction) -> Resolution | None:
        made = tx.runs.effect(run, effect.effect_id).attempts
        if made > retries:
            return Resolution(ERROR, error=f"{error} (after {made} attempts)")
        pause = doubled(FIRST_BACKOFF, max(made - 1, 0), LONGEST_BACKOFF)
        tx.runs.attempts.postpone(run, effect.effect_id, tx.time() + pause)
        return None

    return attempt.change(postpone)


# The kinds that every flow has


def _basic_kinds(around: Surroundings) -> dict[str, EffectKind]:
    programs = _Programs(Gated(around.processes))
    return {
        "node": EffectKind(programs.node),
        "call": EffectKind(programs.call),
        "task": EffectKind(_add_task),
        "flow": EffectKind(_call_flow),
        "update_task": EffectKind(_update_task),
    }


class _Programs:
    """Effects that run a program."""

    def __init__(self, processes: Gated) -> None:
        self._processes = processes

    async def node(self, attempt: Attempt) -> Resolution:
        """Run a shell line."""
        args, command = attempt.args, attempt.effect.command
        done = await self._run(attempt, ("/bin/sh", "-c", args["command"]), env=args.get("env", {}))
        value = _output(done)
        _check_temporary(f"`{command}`", done)
        if done.exit_code and args.get("check", True):
            error = f"`{command}` exited {done.exit_code}{_last_line(done)}"
            return Resolution(ERROR, value, error)
        return Resolution(OK, value)

    async def call(self, attempt: Attempt) -> Resolution:
        """Call a Python function."""
        args = attempt.args
        argv = own_program("hookline.pyhook", "call", args["function"])
        given = {"args": args["args"], "kwargs": args["kwargs"]}
        done = await self._run(attempt, argv, stdin=msgspec.json.encode(given))
        _check_temporary(args["function"], done)
        message = json_object(whole_output(done))
        if message is None:
            wrong = f"it ended with exit code {done.exit_code}, no result"
            if done.stdout_bytes > MAX_ANSWER:
                wrong = f"its result of {done.stdout_bytes} bytes is too long"
            return Resolution(ERROR, error=wrong)
        if "error" in message:
            return Resolution(ERROR, error=message["error"])
        return Resolution(OK, message["answer"])

    async def _run(
        self,
        attempt: Attempt,
        argv: tuple[str, ...],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Finished:
        timeout = attempt.timeout(DEFAULT_TIMEOUT)
        try:
            done = await self._processes.run(
                argv,
                cwd=attempt.around.root,
                env={**(env or {}), **attempt.environment},
                timeout=timeout,
                stdin=stdin,
                on_start=attempt.born,
            )
        except CannotStart as problem:
            raise HooklineError(str(problem)) from problem
        if done.timed_out:
            raise Temporary(f"timed out after {timeout:g} s")
        return done


async def _add_task(attempt: Attempt) -> None:
    """A task, whose end is the result."""
    run, effect = attempt.run, attempt.effect
    given = {k: v for k, v in effect.args.items() if v is not None and k != "goal"}
    given["task_type"] = given.pop("type", None)

    def add(tx: Transaction) -> None:
        attempt.begin(tx)
        if tx.runs.effect(run, effect.effect_id).task is None:
            task = verbs.add(tx, effect.args["goal"], **given)
            tx.runs.attempts.bind_task(run, effect.effect_id, task_number(task.id))

    attempt.change(add)


async def _call_flow(attempt: Attempt) -> None:
    """A run of a flow, whose end is the result."""
    run, effect = attempt.run, attempt.effect
    caller = Caller(run.run_id, run.chapter, effect.effect_id)

    def call(tx: Transaction) -> None:
        attempt.begin(tx)
        if tx.runs.effect(run, effect.effect_id).called is None:
            args = effect.args
            attempt.around.call_flow(tx, args["flow"], args["input"], effect.metadata, caller)

    attempt.change(call)


async def _update_task(attempt: Attempt) -> None:
    """A verb on a task; its result is stored with it."""
    effect = attempt.effect

    def update(tx: Transaction) -> None:
        attempt.begin(tx)
        with tx.nested():
            perform(tx, Action("update_task", effect.args))
        done = Resolution(OK, {"taskId": effect.args["taskId"]})
        began = seconds(tx.now)
        journal.resolve(tx, attempt.run, effect.effect_id, done, attempt.around.blobs, began)

    attempt.change(update)


def _check_temporary(what: str, done: Finished) -> None:
    """Raise Temporary for a program that asks for another try, or that was killed."""
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
