"""Runs and their effects: what a journal holds, and the errors that a flow can meet."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from hookline.domain.text.numbers import is_number
from hookline.errors import HooklineError

RUNNING = "running"
PARKED = "parked"
PAUSED = "paused"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
TERMINAL = frozenset({COMPLETED, FAILED, CANCELLED})
# What a run is after these events.
ENDS = {"run_completed": COMPLETED, "run_failed": FAILED, "run_cancelled": CANCELLED}
STATUS_AFTER = {"run_parked": PARKED, "run_paused": PAUSED, "run_resumed": RUNNING}

PENDING = "pending"
OK = "ok"
ERROR = "error"

# Effects that only wait for something; the engine carries out all others but the instant ones.
WAITING = frozenset({"breakpoint", "sleep", "signal"})
# Values that are journaled the moment they are asked for.
INSTANT = frozenset({"now", "uuid", "random", "log", "version", "noop", "session", "gate"})
# In the metadata of a wait: what it waits for, in words.
WAITS_FOR = "waitsFor"
# What a run remembers whose details a person had removed: when.
PRUNED = "hookline.pruned"
# Set in the record of a run that is parked because its command was told to end.
INTERRUPTED = "interrupted"


class EffectFailed(Exception):
    """An effect ended in an error; a flow may catch this and continue."""

    def __init__(self, effect_id: str, error: str) -> None:
        super().__init__(f"{effect_id}: {error}")
        self.effect_id = effect_id
        self.error = error


class Divergence(HooklineError, code="diverged"):
    """The flow does not do what its journal says it did."""

    def __init__(self, message: str, step: str) -> None:
        super().__init__(
            message,
            help="the flow's code changed, or uses the clock or randomness directly: restore it,"
            " guard the new part with `ctx.version(name)`, or cancel the run",
        )
        self.step = step


class FlowMistake(HooklineError, code="flow-mistake"):
    """The flow does something that cannot be journaled."""


class JournalDamaged(HooklineError, code="journal-damaged"):
    """A record of the journal is damaged."""

    help = "`hookline flow journal RUN` shows what can be read; start the flow again"


class UnknownFlow(HooklineError, code="unknown-flow"):
    """There is no such flow."""

    help = "`hookline flow list` shows them all"


class UnknownRun(HooklineError, code="unknown-run"):
    """There is no such run."""

    help = "`hookline flow status` shows every run"


class UnknownEffect(HooklineError, code="unknown-effect"):
    """There is no such effect in this run."""


class EffectResolved(HooklineError, code="effect-resolved"):
    """This effect has its result already."""


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
    called: int | None = None

    @property
    def waits(self) -> bool:
        """Whether it only waits: by its kind, or for a task or a run that it began."""
        return self.kind in WAITING or self.task is not None or self.called is not None

    @property
    def waits_for(self) -> str:
        """What it waits for, for people."""
        if words := self.metadata.get(WAITS_FOR):
            return str(words)
        name = self.args.get("name") if self.kind == "signal" else None
        about = f" ({self.called_run})" if self.called else ""
        return f"{self.kind} '{self.effect_id if name is None else name}'{about}"

    @property
    def called_run(self) -> str | None:
        """The run that it called."""
        return run_id(self.called) if self.called is not None else None

    @property
    def called_flow(self) -> str:
        """The flow that it calls, and the run of it."""
        if self.kind != "flow":
            return ""
        return f"{self.args.get('flow')} ({self.called_run or 'not begun'})"

    @property
    def resolution(self) -> Resolution:
        """How it ended, once it has."""
        return Resolution(self.status, self.value, self.error)

    @property
    def command(self) -> str:
        """The shell line that it runs, for people: with the values from its environment."""
        values: dict[str, Any] = self.args.get("env") or {}
        line = str(self.args.get("command") or "")
        return _VARIABLE.sub(lambda found: str(values.get(found[1], found[0]))[:SHOWN], line)


class Caller(msgspec.Struct, rename="camel", frozen=True):
    """The effect that called a run."""

    run_id: str
    chapter: int
    effect_id: str


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


class RunOutline(msgspec.Struct, frozen=True):
    """A run in a few words: what it is about, its status, and who advances it until when."""

    run_id: str
    flow: str
    status: str
    task_id: str | None
    created_at: str
    updated_at: str
    owner: str | None
    lease_until: float


def effect_key(store_id: str, run: Run, effect_id: str) -> str:
    """The idempotency key of an effect: the same for every attempt at it, and for no other."""
    return f"{store_id}-R{run_number(run.run_id)}-{run.chapter}-{effect_id}"


def run_id(number: int) -> str:
    """The number in the store, as people write it."""
    return f"R-{number}"


# How many runs are asked for by whoever wants them all.
EVERY = 1_000_000


def run_of_place(place: str) -> str | None:
    """The run that a place such as `R-1/1/turn` is in; None if it is in none."""
    run = place.partition("/")[0]
    return run if run[:2] == "R-" else None


def run_number(text: str) -> int:
    """`R-12`, `r-12` or `12` as the number in the store."""
    digits = text[2:] if text[:2] in ("R-", "r-") else text
    if not is_number(digits):
        help = "run ids look like R-12; `hookline flow status` lists them"
        raise UnknownRun(f"{text[:80]!r} is not a run id", help=help)
    return int(digits)
