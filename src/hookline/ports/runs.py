"""Runs of flows, their effects, and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.domain.runs.model import Caller, JournalEffect, Run
    from hookline.domain.runs.projection import Columns
    from hookline.domain.sessions.model import HeldOutput


class Runs(Protocol):
    """Runs of flows and their effects."""

    def find(self, identifier: str) -> Run:
        """The run, or UnknownRun."""

    def runs(self, *, status: str | None = None, limit: int = 100) -> list[Run]:
        """Runs, newest first."""

    def of_flow(self, flow: str, limit: int = 1000) -> list[Run]:
        """The newest runs of a flow, oldest first."""

    def effects(self, run: Run) -> list[JournalEffect]:
        """Every effect of the current chapter, in the order in which they were asked for."""

    def pending(self, run: Run) -> list[JournalEffect]:
        """The effects that have no result yet."""

    def effect(self, run: Run, effect_id: str) -> JournalEffect:
        """One effect of the current chapter, or UnknownEffect."""

    def resolved_since(self, run: Run, seq: int) -> list[tuple[str, str, Any, str | None, int]]:
        """(effect, status, value, error, position in the log) of results after one, in order."""

    def signals(self, run: Run) -> list[tuple[int, str, Any]]:
        """(position in the log, name, value) of signals that nothing has taken yet."""

    def waiting_for_task(self, task: int) -> list[tuple[str, int, str]]:
        """(run, chapter, effect) of effects that wait for a task."""

    def called_by(self, identifier: str) -> list[str]:
        """The runs that a run called, the oldest first."""

    def caller_of(self, identifier: str) -> Caller | None:
        """The effect that called a run; None for a run that nobody called."""

    def count_iteration(self, identifier: str) -> int:
        """Count an iteration."""

    def consume_signal(self, seq: int) -> None:
        """A signal was taken."""

    def value(self, identifier: str, name: str) -> Any:
        """What hooks of a run remember under a name; None if nothing."""

    def values_named(self, name: str) -> list[tuple[str, Any]]:
        """(run, value) of every run that remembers something under a name."""

    def set_value(self, identifier: str, name: str, value: Any) -> None:
        """What hooks of a run remember under a name."""

    def rows(self, table: str) -> Iterator[Columns]:
        """Every row of `runs`, `effects` or `run_signals`, to be checked against the log."""

    @property
    def leases(self) -> Leases:
        """Who works on which run, and when a run has something to do."""

    @property
    def attempts(self) -> Attempts:
        """What is tried to get the results of effects."""


class Leases(Protocol):
    """Who works on which run and when one has something to do; perishable, and not in the log."""

    def due(self, now: float, is_free: Callable[[str, float], bool]) -> list[str]:
        """Runs that have something to do and that nobody alive works on."""

    def parked_later(
        self, now: float, after: str, is_free: Callable[[str, float], bool]
    ) -> list[str]:
        """Runs that wake after now, were parked after a moment, and that nobody alive works on."""

    def next_wake(self, now: float) -> float | None:
        """When the next parked run has something to do."""

    def holders(self) -> list[tuple[str, int, str]]:
        """(run, token, owner) of every run that has a holder, alive or not."""

    def holder(self, identifier: str) -> tuple[str | None, int, float]:
        """(owner, token, lease) of a run."""

    def take(self, identifier: str, owner: str, token: int, until: float) -> None:
        """Lease a run."""

    def renew(self, owner: str, until: float, *, not_over: float = 0.0) -> None:
        """Hold all runs of a process for longer, unless a lease was over at a moment."""

    def let_go(self, identifier: str, token: int, wake_at: float | None) -> None:
        """End a lease; the run wakes at a moment, or when something happens to it."""


class Attempts(Protocol):
    """What is tried to get the results of effects; perishable, and not in the log."""

    def begin(self, run: Run, effect_id: str) -> None:
        """An attempt at an effect begins."""

    def set_child(self, run: Run, effect_id: str, child: str | None) -> None:
        """The process group that works on an effect."""

    def set_conversation(self, run: Run, effect_id: str, conversation: str) -> None:
        """The agent's conversation, known before the turn ends."""

    def postpone(self, run: Run, effect_id: str, until: float) -> None:
        """Try an effect again later."""

    def choose(self, run: Run, effect_id: str) -> bool:
        """Ask whoever advances the run to carry an effect out; False if it has its result."""

    def bind_task(self, run: Run, effect_id: str, task: int) -> None:
        """The task that an effect waits for."""


class Sessions(Protocol):
    """Sessions and the output that waits for their agents."""

    def live(self) -> list[str]:
        """The runs of sessions that are not over, the oldest first."""

    def newest(self, limit: int = 100) -> list[str]:
        """The runs of all sessions, the newest first."""

    def hold(self, identifier: str, held: HeldOutput) -> None:
        """Keep a hook's output for a session's next prompt; the same one is kept once."""

    def held(self, identifier: str) -> list[HeldOutput]:
        """What a session's agent has not been told yet, in the order in which it came."""

    def drain(self, identifier: str) -> list[HeldOutput]:
        """Take all that is held: from now on it is in a prompt."""
