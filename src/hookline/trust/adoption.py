"""Adopting a store that someone else created: nothing in it continues on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.events import ADOPTED, SYSTEM_NODE
from hookline.domain.runs import model as runs
from hookline.domain.runs.model import TERMINAL, Run
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.sessions.model import STANDING
from hookline.flows import journal

if TYPE_CHECKING:
    from hookline.ports.store import Transaction, View

CAME_ALONG = "it came with a store that you did not create"


class Adopted(NamedTuple):
    """What was cancelled in an adopted store."""

    runs: tuple[str, ...]
    calls: int
    switches: tuple[str, ...]


def unfinished(view: View) -> list[Run]:
    """The runs that are not over, oldest first."""
    return [run for run in reversed(view.runs.runs(limit=-1)) if run.status not in TERMINAL]


def adopt(tx: Transaction) -> Adopted:
    """Cancel runs, abandon calls, clear switches; what agents registered before is void.

    Processes named in a foreign store are not ours to end, and its leases do not count:
    so runs are cancelled by the event alone, not as a person would do it.
    """
    found = unfinished(tx)
    for run in found:
        journal.write(tx, "run_cancelled", run.run_id, {"reason": CAME_ALONG})
        tx.runs.leases.let_go(run.run_id, tx.runs.leases.holder(run.run_id)[1], None)
        if run.flow == SESSION:
            tx.runs.set_value(run.run_id, STANDING, runs.CANCELLED)
    cancelled = tuple(run.run_id for run in found)
    tx.outbox.clear()
    adopted = Adopted(cancelled, tx.calls.abandon(CAME_ALONG), tx.switches.clear())
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
