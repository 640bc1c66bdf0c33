"""A store that somebody else made becomes this user's own: nothing in it goes on by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain import runs
from hookline.domain.events import ADOPTED, SYSTEM_NODE
from hookline.domain.runs import TERMINAL
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.sessions import STANDING
from hookline.flows import journal

if TYPE_CHECKING:
    from hookline.domain.runs import Run
    from hookline.ports.store import Transaction, View

CAME_ALONG = "it came with a store that you did not create"


class Adopted(NamedTuple):
    """What a store would have done by itself, and will not."""

    runs: tuple[str, ...]
    calls: int
    switches: tuple[str, ...]


def unfinished(view: View) -> list[Run]:
    """The runs that are not over, oldest first."""
    return [run for run in reversed(view.runs.runs(limit=-1)) if run.status not in TERMINAL]


def adopt(tx: Transaction) -> Adopted:
    """Cancel runs, abandon calls, clear switches; what agents registered before counts no more.

    Processes that a foreign store names are not ours to end, and what it calls a lease holds
    nobody: so runs are not cancelled as a person would do it, but by the event alone.
    """
    found = unfinished(tx)
    for run in found:
        journal.write(tx, "run_cancelled", run.run_id, {"reason": CAME_ALONG})
        tx.runs.let_go(run.run_id, tx.runs.holder(run.run_id)[1], None)
        if run.flow == SESSION:
            tx.runs.set_value(run.run_id, STANDING, runs.CANCELLED)
    cancelled = tuple(run.run_id for run in found)
    adopted = Adopted(cancelled, tx.calls.abandon(CAME_ALONG), tx.calls.clear_switches())
    tx.append(
        ADOPTED,
        SYSTEM_NODE,
        {
            "runsCancelled": list(adopted.runs),
            "callsAbandoned": adopted.calls,
            "switchesCleared": list(adopted.switches),
        },
    )
    return adopted
