"""What steers git must not change while work is done or tried: if it did, a person looks first.

How it was before a turn, or before programs that run what the work brings, stands in the store
until that is over, so that a kill hides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline.domain.repository import control_changes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.runs import Resolution, Run
    from hookline.flows.effects import Surroundings
    from hookline.ports.store import Transaction, View

Tested = TypeVar("Tested")

_BEFORE, _CHANGED = "hookline.git-before", "hookline.git-changed"


class GitControl:
    """Watches over what steers git during the turns of runs, their hooks and their tests."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def begin(self, run: Run, guard: Any) -> dict[str, str]:
        """How it is before a turn, or was before one that was cut short."""
        with self._around.store.read() as view:
            noted: dict[str, str] | None = view.runs.value(run.run_id, _BEFORE)
        if noted is not None:
            return noted
        before = await self._look()

        def note(tx: Transaction) -> None:
            guard(tx)
            tx.runs.set_value(run.run_id, _BEFORE, before)

        self._around.change(note)
        return before

    async def watch(
        self, run: Run, guard: Any, act: Callable[[], Awaitable[Resolution]]
    ) -> tuple[Resolution, list[str]]:
        """An effect that runs programs, and what it changed; that is kept with its result."""
        before = await self.begin(run, guard)
        found = await act()
        changed = await self.changed(before)

        def ended(tx: Transaction) -> None:
            if found.also is not None:
                found.also(tx)
            self.end(tx, run, changed)

        return msgspec.structs.replace(found, also=ended), changed

    async def watch_tests(
        self, run: Run, guard: Any, act: Callable[[], Awaitable[Tested]]
    ) -> tuple[Tested, list[str]]:
        """Tests in the midst of an effect, and what they changed; a kill after them hides it not.

        So how it was before is forgotten only if nothing changed.
        """
        before = await self.begin(run, guard)
        found = await act()
        changed = await self.changed(before)

        def ended(tx: Transaction) -> None:
            guard(tx)
            self.end(tx, run, changed)
            if changed:
                tx.runs.set_value(run.run_id, _BEFORE, before)

        self._around.change(ended)
        return found, changed

    async def changed(self, before: dict[str, str]) -> list[str]:
        """What was added, removed or changed since."""
        return control_changes(before, await self._look())

    @staticmethod
    def end(tx: Transaction, run: Run, changed: list[str]) -> None:
        """The turn is over; what it changed stays known."""
        tx.runs.set_value(run.run_id, _BEFORE, None)
        if changed:
            found = {*changed_in(tx, run), *changed}
            tx.runs.set_value(run.run_id, _CHANGED, sorted(found))

    async def _look(self) -> dict[str, str]:
        repository = self._around.repository
        return {} if repository is None else await repository.control_state()


def changed_in(view: View, run: Run) -> list[str]:
    """What steers git and changed in a run."""
    return list(view.runs.value(run.run_id, _CHANGED) or ())
