"""The doctor's checks of runs: tables against the journal, and whether due runs advance."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from hookline.domain.events import RUN_EVENTS
from hookline.domain.runs.model import PRUNED, RUNNING, JournalDamaged
from hookline.domain.runs.projection import RunFold, differences
from hookline.domain.text.excerpts import first_few
from hookline.domain.timestamps import seconds
from hookline.flows import journal
from hookline.queries.doctor.checks import Diagnosis, failed, many, ok, warning
from hookline.queries.hosts import living
from hookline.queries.pruned import last_prune
from hookline.wiring.running.hosts import is_held

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.ports.store import View

SHOWN = 3
MOST_DIFFERENCES = 1000
# A process that serves flows advances a due run at once.
GRACE = 2.0
# Due times of flows go by each host's own clock.
MOST_SKEW = 2.0
_FIX = "keep a copy of .hookline/ and restore it from a backup; if nobody edited it, report this"


def run_checks(view: View) -> Iterator[Diagnosis]:
    """Whether the journal is whole, and the tables of runs match it."""
    fold = RunFold()
    try:
        for event in view.log.stream(types=tuple(sorted(RUN_EVENTS))):
            journal.verify_one(event)
            fold.add(event)
    except JournalDamaged as problem:
        yield failed("journal", problem.message, _FIX)
        return
    pruned = {run_id for run_id, _ in view.runs.values_named(PRUNED)}
    found = list(islice(differences(fold, view.runs.rows, pruned), MOST_DIFFERENCES))
    if found:
        message = f"runs differ from the journal: {first_few(found, SHOWN, '; ')}"
        yield failed("journal", message, _FIX)
    else:
        counted = f"{many(len(fold.runs), 'run')} and {many(len(fold.effects), 'effect')}"
        yield ok("journal", f"{counted}, matching the log")
    if (last := last_prune(view)) is not None:
        yield ok("pruned", last.told)


def flow_checks(view: View) -> Iterator[Diagnosis]:
    """Whether a process advances every run that is due."""
    now = time.time()
    free = view.runs.leases.due(now, lambda owner, until: not is_held(view, owner, until))
    due = [view.runs.find(each) for each in free]
    left = [run for run in due if now - seconds(run.updated_at or "1970-01-01Z") > GRACE]
    if left:
        shown = first_few([run.run_id for run in left], SHOWN)
        message = f"{many(len(left), 'run')} of flows wait and no process advances them: {shown}"
        yield warning("flows", message, "hookline work --flows")
    else:
        running = len(view.runs.runs(status=RUNNING, limit=-1))
        yield ok("flows", f"{many(running, 'run')} advancing, none unattended")


def host_checks(view: View) -> Iterator[Diagnosis]:
    """Whether the clocks of those that share the store agree, and all of them are heard of."""
    hosts = {each.host: each.facts for each in living(view, view.time())}
    if any(view.hosts.all()):
        wrong = [name for name, facts in hosts.items() if abs(facts.clock) > MOST_SKEW]
        if wrong:
            message = f"the clock of {first_few(wrong, SHOWN)} differs from the server's"
            yield warning("hosts", message, "keep the clocks of hosts and server in step (NTP)")
        else:
            yield ok("hosts", f"{many(len(hosts), 'host')} at work, their clocks agree")
