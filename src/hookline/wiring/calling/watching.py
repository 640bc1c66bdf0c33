"""What follows from an event in the transaction that writes it, besides its hooks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from hookline.domain.events import RUN_ENDS, TASK_ENDS
from hookline.points import NOTIFYING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.ports.store import Transaction


class EventWatch:
    """Continues runs that wait for an event, and notes what may need a person."""

    def __init__(self, app: App) -> None:
        self._app = app

    def __call__(self, tx: Transaction, event: Event) -> None:
        """After the end of a task or run, continue runs that wait for it, and clean up.

        An event after which something may wait for a person is noted for the next look.
        """
        if self.announces and event.type not in NOTIFYING and self._may_matter(tx, event):
            tx.announcements.look_at(event.seq)
        if event.type in RUN_ENDS or (event.type in TASK_ENDS and tx.waits_for_task(event.node_id)):
            from hookline.wiring.running.flows import go_on_after  # few tasks belong to runs

            go_on_after(self._app, tx, event)

    def start_flow(self, tx: Transaction, name: str, context: Mapping[str, Any]) -> str:
        """Start a run of a flow in the caller's transaction; its id."""
        from hookline.wiring.running.flows import start_flow  # few hooks start flows

        return start_flow(self._app, tx, name, context)

    @cached_property
    def announces(self) -> bool:
        """Whether a hook is called when something waits for a person."""
        return any(self._app.registry.subscribers(point) for point in NOTIFYING)

    def should_look(self) -> bool:
        """Whether something may wait for a person since someone last looked."""
        if not (self.announces and self._app.delivers):
            return False
        from hookline.wiring.running.hosts import dead_holders  # few projects announce anything

        with self._app.read() as view:
            known = view.announcements
            return bool(known.unseen()) or dead_holders(view) != known.dead_holders()

    def _may_matter(self, tx: Transaction, event: Event) -> bool:
        from hookline.domain.announcements import may_begin  # few projects announce anything

        if event.type == "task_ready" and not self._app.sections.task_types:
            return False  # anyone may take it
        return may_begin(event) or tx.announcements.is_about(event.node_id)
