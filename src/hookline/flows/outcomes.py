"""How a stretch of a run ends, and what the engine sees of a run at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain import runs, sessions
from hookline.domain.runs import Resolution
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.tasks import SETTLED
from hookline.errors import HooklineError
from hookline.hooks.verdicts import asked_person

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Run
    from hookline.ports.store import View

JUDGED = frozenset({SUBMIT, MERGE})
EVERY = 1_000_000
# What begins with a task anew, whatever became of its sessions before.
WENT_ON = ("task_started", "task_unblocked", "submission_started")

# Signals to the engine, and the event that each becomes.
CONTROLS = {"cancel": "run_cancelled", "pause": "run_paused", "stop": "run_parked"}
# A signal that ends what a run does at the moment; the flow hears of it and goes on.
INTERRUPT = "interrupt"
# In the result of an effect that a person cut short.
CUT = {"interrupted": True, "by": "person"}


class Done(NamedTuple):
    """The run has ended."""

    status: str


class Parked(NamedTuple):
    """The run waits: until a moment, for something to happen, and why.

    `problem`: it cannot go on as it is. `at_limit`: it made as many iterations as it may.
    """

    until: float | None
    reason: str
    needs_person: bool = False
    held: bool = False
    problem: bool = False
    at_limit: bool = False


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
    if effect.kind == "agent":
        return Resolution(runs.OK, {**CUT, "conversation": effect.conversation})
    if effect.kind == "validate":
        return Resolution(runs.OK, {**CUT, "results": []})
    if effect.kind == "hook":
        nothing = {"text": "", "items": [], "nonce": ""}
        return Resolution(
            runs.OK, {**CUT, **nothing, "action": "continue", "reason": "a person interrupted it"}
        )
    return None


def what_waits(pending: list[JournalEffect]) -> str:
    """What a run waits for; empty if none of its effects waits."""
    waits = [e for e in pending if e.kind in runs.WAITING or e.task or e.next_try]
    named = ", ".join(
        f"{'another try of ' if e.next_try else ''}{e.kind} '{e.effect_id}'" for e in waits[:3]
    )
    more = f" and {len(waits) - 3} more" if len(waits) > 3 else ""
    return f"waits for {named}{more}" if waits else ""


# Who gets a parked run going again

WAITS = "waits"


def only_waits(pending: list[JournalEffect]) -> bool:
    """Whether all that a run has asked for comes from outside: nothing is left to be run."""
    return bool(pending) and all(e.kind in runs.WAITING or e.task for e in pending)


def is_stuck(view: View, run: Run) -> bool:
    """Whether neither a clock nor what it waits for gets a parked run going again."""
    if run.status != runs.PARKED or run.wake_at is not None:
        return False
    return not last_parked(view, run).data.get(WAITS)


def waits_for_person(view: View, run: Run) -> bool:
    """Whether a person has to act: the run asks something, or nothing else gets it going."""
    if run.status not in (runs.PARKED, runs.RUNNING):
        return False
    asks = any(effect.kind == "breakpoint" for effect in view.runs.pending(run))
    judged = run.flow in JUDGED and asked_person(view, run) is not None
    return asks or judged or is_stuck(view, run) or _is_session_at_rest(view, run)


def _is_session_at_rest(view: View, run: Run) -> bool:
    if run.flow != sessions.FLOW:
        return False
    standing = view.runs.value(run.run_id, sessions.STANDING)
    return standing in (sessions.ESCALATED, sessions.LIMIT) and not is_passed_over(view, run)


def is_passed_over(view: View, run: Run) -> bool:
    """Whether nobody has to see to a session: its task is settled, or went on without it."""
    task_id: str = run.input["taskId"]
    task = view.graph.find(task_id)
    if task is None or task.state in SETTLED:
        return True
    if view.runs.value(run.run_id, sessions.STANDING) in (sessions.LIVE, sessions.PAUSED):
        return False
    ended = view.log.events(node_id=run.run_id, types=("session_ended",))
    return bool(ended) and bool(
        view.log.events(node_id=task_id, types=WENT_ON, after=ended[-1].seq)
    )


def all_for_person(view: View) -> list[str]:
    """Every run that waits for a person, the oldest first."""
    states = (runs.PARKED, runs.RUNNING)
    found = [run for status in states for run in view.runs.runs(status=status, limit=EVERY)]
    waiting = [run.run_id for run in found if waits_for_person(view, run)]
    return sorted(waiting, key=runs.run_number)


def last_parked(view: View, run: Run) -> Event:
    """The record that tells why a run is parked."""
    return view.log.events(node_id=run.run_id, types=("run_parked",))[-1]


def told(error: BaseException) -> str:
    """An error of the flow, in words."""
    if isinstance(error, HooklineError | runs.EffectFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"
