"""Runs and their effects: what a journal holds, and the errors that a flow can meet."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from hookline.domain.numbers import is_number
from hookline.errors import HooklineError

RUNNING = "running"
PARKED = "parked"
PAUSED = "paused"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
TERMINAL = frozenset({COMPLETED, FAILED, CANCELLED})

PENDING = "pending"
OK = "ok"
ERROR = "error"

# Effects that the engine carries out itself, and those that only wait for something.
EXECUTABLE = frozenset(
    {"node", "call", "agent", "hook", "task", "update_task", "validate", "work", "repo"}
)
WAITING = frozenset({"breakpoint", "sleep", "signal"})
# Values that are journaled the moment they are asked for.
INSTANT = frozenset({"now", "uuid", "random", "log", "version", "noop", "session", "gate"})
# How the reason begins for which a run rests whose command was told to end.
INTERRUPTED = "interrupted"


class EffectFailed(Exception):
    """An effect ended in an error; a flow may catch this and go on."""

    def __init__(self, effect_id: str, error: str) -> None:
        super().__init__(f"{effect_id}: {error}")
        self.effect_id = effect_id
        self.error = error


class Divergence(HooklineError):
    """The flow does not do what its journal says it did."""

    code = "diverged"

    def __init__(self, message: str, step: str) -> None:
        super().__init__(
            message,
            help="the flow's code changed, or uses the clock or randomness directly: restore it,"
            " guard the new part with `ctx.version(name)`, or cancel the run",
        )
        self.step = step


class FlowMistake(HooklineError):
    """The flow does something that cannot be journaled."""

    code = "flow-mistake"


class JournalDamaged(HooklineError):
    """A record of the journal is damaged."""

    code = "journal-damaged"
    help = "`hookline flow journal RUN` shows what can be read; start the flow again"


class UnknownFlow(HooklineError):
    """There is no such flow."""

    code = "unknown-flow"
    help = "`hookline flow list` shows them all"


class UnknownRun(HooklineError):
    """There is no such run."""

    code = "unknown-run"
    help = "`hookline flow status` shows every run"


class UnknownEffect(HooklineError):
    """There is no such effect in this run."""

    code = "unknown-effect"


class EffectResolved(HooklineError):
    """This effect has its result already."""

    code = "effect-resolved"


class Request(msgspec.Struct, frozen=True):
    """An effect that a flow asks for. `policy` (timeout, retries) may change under a run."""

    effect_id: str
    step: str
    kind: str
    args: dict[str, Any]
    metadata: dict[str, Any]
    policy: dict[str, Any]
    digest: str


class Resolution(msgspec.Struct, frozen=True):
    """How an effect ended. `also` is written in the same transaction."""

    status: str
    value: Any = None
    error: str | None = None
    also: Any = None


# So much of a value is shown.
SHOWN = 200
_VARIABLE = re.compile(r"\$\{(HOOKLINE_VALUE_[0-9]+)\}")


class JournalEffect(msgspec.Struct, frozen=True):
    """An effect with everything that the engine needs to know about it."""

    effect_id: str
    step: str
    kind: str
    status: str
    args: dict[str, Any]
    digest: str
    metadata: dict[str, Any]
    policy: dict[str, Any]
    requested_seq: int
    requested_at: str
    resolved_seq: int | None
    resolved_at: str | None
    value: Any
    error: str | None
    attempts: int
    next_try: float | None
    chosen: int
    task: int | None
    child: str | None
    conversation: str | None

    @property
    def command(self) -> str:
        """The shell line that it runs, for people: with the values from its environment."""
        values: dict[str, Any] = self.args.get("env") or {}
        line = str(self.args.get("command") or "")
        return _VARIABLE.sub(lambda found: str(values.get(found[1], found[0]))[:SHOWN], line)


class Run(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A run of a flow as every surface shows it."""

    run_id: str
    flow: str
    status: str
    input: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    chapter: int = 1
    state: Any = None
    iteration: int = 0
    reason: str | None = None
    value: Any = None
    error: str | None = None
    code_digest: str = ""
    pins: dict[str, Any] = {}
    wake_at: float | None = None
    created_at: str | None = None
    updated_at: str | None = None


def effect_key(store_id: str, run: Run, effect_id: str) -> str:
    """The idempotency key of an effect: the same for every attempt at it, and for no other."""
    return f"{store_id}-R{run_number(run.run_id)}-{run.chapter}-{effect_id}"


def run_id(number: int) -> str:
    """The number in the store, as people write it."""
    return f"R-{number}"


def run_number(text: str) -> int:
    """`R-12`, `r-12` or `12` as the number in the store."""
    digits = text[2:] if text[:2] in ("R-", "r-") else text
    if not is_number(digits):
        raise UnknownRun(f"{text[:80]!r} is not a run id", help="run ids look like R-12")
    return int(digits)
