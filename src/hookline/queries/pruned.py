"""Whether details of work are gone because a person had them pruned, for all who show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import PRUNED, SYSTEM_NODE
from hookline.domain.runs import model as runs
from hookline.domain.timestamps import local

if TYPE_CHECKING:
    from hookline.ports.store import View

# What is gone of a run that remembers to have been pruned.
GONE = "what its hooks saw and printed, and its feed"


class Prune(msgspec.Struct, rename="camel", frozen=True):
    """When details were pruned last, and of which work: what was finished `before`."""

    at: str
    before: str

    @property
    def told(self) -> str:
        """What people should know who look for details."""
        before = f"{local(self.before):%Y-%m-%d %H:%M}"
        return f"what hooks of finished work saw and printed before {before} is pruned"


def last_prune(view: View) -> Prune | None:
    """When details were pruned last; None if that never happened."""
    event = view.log.latest(SYSTEM_NODE, (PRUNED,))
    return Prune(event.timestamp, event.data["before"]) if event is not None else None


def pruned_at(view: View, run_id: str) -> str | None:
    """When the details of a run were pruned; None if they are there."""
    found: str | None = view.runs.value(run_id, runs.PRUNED)
    return found
