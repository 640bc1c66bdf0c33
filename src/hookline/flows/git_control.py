"""What steers git must not change while an agent works: if it did, a person looks at it first.

How it was before a turn stands in the store until the turn is over, so that a kill hides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.repository import control_changes

if TYPE_CHECKING:
    from hookline.domain.runs import Run
    from hookline.flows.effects import Surroundings
    from hookline.ports.store import Transaction, View

_BEFORE, _CHANGED = "hookline.git-before", "hookline.git-changed"


class GitControl:
    """Watches over what steers git during the turns of runs."""

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
    """What steers git and changed in the turns of a run."""
    return list(view.runs.value(run.run_id, _CHANGED) or ())
