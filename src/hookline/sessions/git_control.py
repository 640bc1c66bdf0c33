"""Files that control git must not change during a turn or a test: if one did, a person looks first.

Their state before a turn, or before programs that run code of the work, is stored until that ends,
so that a kill hides nothing. If several clones of the project share the store, each has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from hookline.domain.runs.model import TERMINAL, Resolution, Run, run_number
from hookline.domain.tasks import SETTLED
from hookline.domain.work.repository import control_changes, hook_changes
from hookline.tasks.task_runs import beginning, runs_on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.ports.store import Transaction, View

Tested = TypeVar("Tested")

_BEFORE, _CHANGED = "hookline.git-before", "hookline.git-changed"
# The git hooks as they were before a run in which they changed.
_HOOKS_BEFORE = "hookline.git-hooks-before"


class GitControl:
    """Watches the files that control git during turns, hooks and tests of runs."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._before, self._hooks_before = _names(around.clone.name if around.clone else "")

    async def begin(self, attempt: Attempt) -> dict[str, str]:
        """The state before a turn, or before one that was interrupted."""
        run_id = attempt.run.run_id
        with self._around.store.read() as view:
            noted: dict[str, str] | None = view.runs.value(run_id, self._before)
        if noted is not None:
            return noted
        before = await self._look()
        attempt.change(lambda tx: tx.runs.set_value(run_id, self._before, before))
        return before

    async def watch(
        self, attempt: Attempt, act: Callable[[], Awaitable[Resolution]]
    ) -> tuple[Resolution, list[str]]:
        """Run an effect that starts programs; what it changed is kept with its result."""
        before = await self.begin(attempt)
        found = await act()
        changed = await self.changed(before)

        def ended(tx: Transaction) -> None:
            if found.also is not None:
                found.also(tx)
            self.end(tx, attempt.run, changed)

        return msgspec.structs.replace(found, also=ended), changed

    async def watch_tests(
        self, attempt: Attempt, act: Callable[[], Awaitable[Tested]]
    ) -> tuple[Tested, list[str]]:
        """Run tests in the middle of an effect; what they changed survives a kill.

        So the state before is forgotten only if nothing changed.
        """
        before = await self.begin(attempt)
        found = await act()
        changed = await self.changed(before)

        def ended(tx: Transaction) -> None:
            self.end(tx, attempt.run, changed)
            if changed:
                tx.runs.set_value(attempt.run.run_id, self._before, before)

        attempt.change(ended)
        return found, changed

    async def changed(self, before: dict[str, str]) -> list[str]:
        """What was added, removed or changed since."""
        return control_changes(before, await self._look())

    def end(self, tx: Transaction, run: Run, changed: list[str]) -> None:
        """End a turn; what it changed stays recorded."""
        before = tx.runs.value(run.run_id, self._before)
        tx.runs.set_value(run.run_id, self._before, None)
        if hook_changes(changed) and tx.runs.value(run.run_id, self._hooks_before) is None:
            tx.runs.set_value(run.run_id, self._hooks_before, before)
        if changed:
            found = {*changed_in(tx, run), *changed}
            tx.runs.set_value(run.run_id, _CHANGED, sorted(found))

    async def _look(self) -> dict[str, str]:
        repository = self._around.repository
        return {} if repository is None else await repository.control_state()


def changed_in(view: View, run: Run) -> list[str]:
    """The files that control git and changed in a run."""
    return list(view.runs.value(run.run_id, _CHANGED) or ())


def hooks_before(view: View, clone: str = "") -> list[dict[str, str]]:
    """The git hooks before each turn that is under way, and before each change of them
    that no person has accepted: Hookline's own git runs none that differs from these."""
    before, of_hooks = _names(clone)
    noted = view.runs.values_named(before)
    under_way = [each for run_id, each in noted if view.runs.find(run_id).status not in TERMINAL]
    changed = view.runs.values_named(of_hooks)
    return under_way + [before for run_id, before in changed if not _is_accepted(view, run_id)]


def _names(clone: str) -> tuple[str, str]:
    """The names under which a clone remembers the state before."""
    of_clone = f"@{clone}" if clone else ""
    return f"{_BEFORE}{of_clone}", f"{_HOOKS_BEFORE}{of_clone}"


def _is_accepted(view: View, run_id: str) -> bool:
    """Whether a person has since continued or ended the task in whose run it changed."""
    task = view.graph.find(view.runs.find(run_id).input.get("taskId") or "")
    if task is None:
        return False
    if task.state in SETTLED and "session" not in view.log.events(node_id=task.id)[-1].metadata:
        return True
    of_task = (run.run_id for run in runs_on(view, task.id))
    later = (each for each in of_task if run_number(each) > run_number(run_id))
    began = (beginning(view, each).metadata for each in later)
    return any("session" not in each for each in began)
