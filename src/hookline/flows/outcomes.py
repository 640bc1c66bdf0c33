"""How advancing a run ends, and what the engine sees of a run at one moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.runs import model as runs
from hookline.domain.text.excerpts import first_few
from hookline.errors import HooklineError
from hookline.flows.called_runs import callers, open_called
from hookline.ports.schedulers import Done as Done
from hookline.ports.schedulers import Parked as Parked

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.flows.own_flows import OwnFlows
    from hookline.ports.store import View

# Tells watchers of a run what happens: a word, and about what.
Observe = Callable[[str, dict[str, Any]], None]
# A result from the store: its effect, status, value and error, and its position in the log.
Result = tuple[str, str, Any, str | None, int]

# Signals to the engine, and the event that each becomes.
CONTROLS = {"cancel": "run_cancelled", "pause": "run_paused", "stop": "run_parked"}
# A signal that ends what a run does now; the flow is told and continues.
INTERRUPT = "interrupt"
# In the result of an effect that a person interrupted.
CUT = {"interrupted": True, "by": "person"}


class Temporary(Exception):
    """An effect failed in a way that another try may fix."""


class Signalled(Exception):
    """Someone wants the run to be stopped, paused or cancelled."""


class RunSnapshot(NamedTuple):
    """What the store knows about a run, read at one moment."""

    pending: list[JournalEffect]
    signals: frozenset[str]
    results: list[Result]

    @property
    def controls(self) -> bool:
        """Whether someone wants the run to be stopped, paused or cancelled."""
        return not self.signals.isdisjoint(CONTROLS)


def what_waits(pending: list[JournalEffect]) -> str:
    """What a run waits for; empty if none of its effects waits."""
    waits = [e for e in pending if e.waits or e.next_try]
    named = [f"{'another try of ' if e.next_try else ''}{e.waits_for}" for e in waits]
    return f"waits for {first_few(named, 3)}" if waits else ""


# What makes a parked run continue

WAITS = "waits"


def only_waits(pending: list[JournalEffect]) -> bool:
    """Whether a run only waits for others: none of its effects is left to run."""
    return bool(pending) and all(e.waits for e in pending)


def is_stuck(view: View, run: Run) -> bool:
    """Whether a parked run cannot continue without a person: no timer, no wait, no caller."""
    if run.status != runs.PARKED or run.wake_at is not None:
        return False
    if last_parked(view, run).data.get(WAITS):
        return False
    return not any(is_stuck(view, caller) for caller in callers(view, run.run_id))


def waits_for_person(
    view: View, run: Run, own: OwnFlows, pending: list[JournalEffect] | None = None
) -> bool:
    """Whether a person has to act, for a run or for one that it called; `pending` if known."""
    if run.status not in (runs.PARKED, runs.RUNNING):
        return False
    return _asks(view, run, own, pending) or any(
        waits_for_person(view, each, own) for each in open_called(view, run.run_id)
    )


def _asks(view: View, run: Run, own: OwnFlows, pending: list[JournalEffect] | None = None) -> bool:
    """Whether a run itself asks a question, or cannot continue without a person."""
    waits = view.runs.pending(run) if pending is None else pending
    asks = any(effect.kind == "breakpoint" for effect in waits)
    return asks or is_stuck(view, run) or own.of(run).asks_person(view, run)


def all_for_person(view: View, own: OwnFlows) -> list[str]:
    """Every run that itself waits for a person, oldest first."""
    states = (runs.PARKED, runs.RUNNING)
    found = [run for status in states for run in view.runs.runs(status=status, limit=runs.EVERY)]
    waiting = [run.run_id for run in found if _asks(view, run, own)]
    return sorted(waiting, key=runs.run_number)


def answered(view: View, run: Run) -> list[str]:
    """The breakpoints of a parked run that were answered since it parked."""
    parked = view.log.latest(run.run_id, ("run_parked",)) if run.status == runs.PARKED else None
    if parked is None:  # a planted store can say so without one
        return []
    found = view.runs.resolved_since(run, parked.seq)
    effects = (view.runs.effect(run, effect_id) for effect_id, *_ in found)
    return [effect.effect_id for effect in effects if effect.kind == "breakpoint"]


def as_answered(view: View, run: Run) -> Run:
    """The run as it is shown: one whose question is answered only waits to be continued."""
    names = answered(view, run)
    if not names:
        return run
    told = f"{first_few(names, 3)} {'is' if len(names) == 1 else 'are'} answered"
    return msgspec.structs.replace(run, reason=f"{told}; it waits to be continued")


def last_parked(view: View, run: Run) -> Event:
    """The record that says why a run is parked."""
    return view.log.events(node_id=run.run_id, types=("run_parked",))[-1]


def error_message(error: BaseException) -> str:
    """The message for an error of the flow."""
    if isinstance(error, HooklineError | runs.EffectFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"
