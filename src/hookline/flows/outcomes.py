"""How a stretch of a run ends, and what the engine sees of a run at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain import runs
from hookline.domain.runs import Resolution
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from hookline.domain.runs import JournalEffect

# Signals to the engine, and the event that each becomes.
CONTROLS = {"cancel": "run_cancelled", "pause": "run_paused", "stop": "run_parked"}
# A signal that ends what a run does at the moment; the flow hears of it and goes on.
INTERRUPT = "interrupt"


class Done(NamedTuple):
    """The run has ended."""

    status: str


class Parked(NamedTuple):
    """The run waits: until a moment, for something to happen, and why."""

    until: float | None
    reason: str
    needs_person: bool = False
    held: bool = False


class Temporary(Exception):
    """An effect did not work now; it may if it is tried again."""


class Signalled(Exception):
    """Somebody wants the run to be stopped, paused or cancelled."""


class Glance(NamedTuple):
    """What stands in the store about a run, read at one moment."""

    pending: list[JournalEffect]
    signals: frozenset[str]
    results: list[tuple[str, str, Any, str | None, int]]

    @property
    def controls(self) -> bool:
        """Whether somebody wants the run to be stopped, paused or cancelled."""
        return not self.signals.isdisjoint(CONTROLS)


def interrupted(effect: JournalEffect) -> Resolution | None:
    """The result of an effect that a person cut short; None for those that go on."""
    cut = {"interrupted": True, "by": "person"}
    if effect.kind == "agent":
        return Resolution(runs.OK, {**cut, "conversation": effect.conversation})
    if effect.kind == "validate":
        return Resolution(runs.OK, {**cut, "results": []})
    if effect.kind == "hook":
        nothing = {"text": "", "items": [], "nonce": ""}
        return Resolution(
            runs.OK, {**cut, **nothing, "action": "continue", "reason": "a person interrupted it"}
        )
    return None


def what_waits(pending: list[JournalEffect], idle: int) -> str:
    """Why a run that goes no further is parked."""
    waits = [e for e in pending if e.kind in runs.WAITING or e.task]
    if not waits:
        return f"no progress in {idle} iterations" if pending else "nothing is pending"
    named = ", ".join(f"{e.kind} '{e.effect_id}'" for e in waits[:3])
    return f"waits for {named}" + (f" and {len(waits) - 3} more" if len(waits) > 3 else "")


def for_person(pending: list[JournalEffect]) -> bool:
    """Whether a person has to act."""
    return any(e.kind == "breakpoint" for e in pending)


def told(error: BaseException) -> str:
    """An error of the flow, in words."""
    if isinstance(error, HooklineError | runs.EffectFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"
