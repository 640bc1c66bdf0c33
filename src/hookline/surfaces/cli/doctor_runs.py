"""The doctor's look at runs: their tables against the journal, record by record."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from hookline.domain.events import RUN_EVENTS
from hookline.domain.run_projection import RunFold, differences
from hookline.domain.runs import JournalDamaged
from hookline.flows import journal
from hookline.surfaces.cli.doctor_checks import failed, many, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.store.sqlite import View
    from hookline.surfaces.cli.doctor_checks import Check

SHOWN = 3
MOST_DIFFERENCES = 1000
_FIX = "keep a copy of .hookline/ and restore it from a backup; if nobody edited it, report this"


def run_checks(view: View) -> Iterator[Check]:
    """Whether the journal is whole, and the tables of runs are what it says."""
    fold = RunFold()
    try:
        for event in view.log.stream(types=tuple(sorted(RUN_EVENTS))):
            journal.verify_one(event)
            fold.add(event)
    except JournalDamaged as problem:
        yield failed("journal", problem.message, _FIX)
        return
    found = list(islice(differences(fold, view.runs.rows), MOST_DIFFERENCES))
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        message = f"runs are not what the journal says: {'; '.join(found[:SHOWN])}{more}"
        yield failed("journal", message, _FIX)
    else:
        counted = f"{many(len(fold.runs), 'run')} and {many(len(fold.effects), 'effect')}"
        yield ok("journal", f"{counted}, as folding the log gives them")
