"""Removing the details of finished work: what hooks saw and printed, and files next to the store.

The log stays whole, and with it what happened, why, and what it cost. Every step can be repeated
after a kill, and none takes away what running processes need.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.domain.events import PRUNED, SYSTEM_NODE
from hookline.domain.runs import model as runs
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.timestamps import iso, seconds
from hookline.errors import StoreBusy, StoreFull
from hookline.files import Removed, added, own_folder, remove_tree, sweep
from hookline.queries.finished_work import FinishedWork
from hookline.queries.pruned import pruned_at
from hookline.wiring.project.clones import is_shared
from hookline.wiring.project.stores import open_outputs
from hookline.wiring.running.hosts import is_held, served_runs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import TypeVar

    from hookline.app import App
    from hookline.domain.hooks.records import Prunable
    from hookline.domain.runs.model import RunOutline
    from hookline.ports.store import Blobs, View

    T = TypeVar("T")

# What was written so recently may be about to be needed by the process that wrote it.
QUIET = 86400.0
# So many events, effects or runs are changed in one transaction: others write in between.
AT_ONCE, RUNS_AT_ONCE = 500, 50
AT_WORK = "the store's file keeps its size while something runs here; prune again when nothing does"


class Pruned(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What was removed, or would be, of work that was finished `before`.

    `calls` are events whose hooks' payload and output is gone, `journals` runs that only the log
    tells in full, `snapshots` what git wrote for proofs. `store` is how large the store's file was
    and is, and `unshrunk` why it stayed so.
    """

    before: str
    dry_run: bool
    calls: Removed
    journals: Removed
    feeds: Removed
    run_folders: Removed
    reports: Removed
    values: Removed
    blobs: Removed
    snapshots: Removed
    store: tuple[int, int]
    unshrunk: str | None = None
    freed: int = 0


class _Plan(NamedTuple):
    """What to remove: what belongs to `events` and `runs`, and files that nobody needs.

    Of the `detailed` runs the store has more than the log needs: `of_runs` bytes.
    """

    before: str
    events: list[Prunable]
    runs: Collection[str]
    detailed: list[str]
    of_runs: int
    needed: Collection[str]
    files_before: float
    snapshots_before: float

    @property
    def in_store(self) -> dict[str, Removed]:
        """What the store loses."""
        calls = Removed(len(self.events), sum(each.bytes for each in self.events))
        return {"calls": calls, "journals": Removed(len(self.detailed), self.of_runs)}


def prune(app: App, older: float, *, dry: bool = False) -> Pruned:
    """Remove the details of work that was finished so many seconds ago; if `dry`, only count."""
    plan, size = _plan(app, older), app.store.size()
    if not dry:
        _remove_details(app, plan)
    files = _sweep_files(app, plan, dry=dry)
    removed = {**plan.in_store, **files}
    if not dry and any(each.count for each in removed.values()):
        facts = {"before": plan.before, **{name: each.count for name, each in removed.items()}}
        with app.store.write(app.origin.metadata()) as tx:
            tx.append(PRUNED, SYSTEM_NODE, facts)
    unshrunk = None if dry else _shrink(app)
    now = app.store.size()
    in_store = added(plan.in_store.values()).bytes if dry else max(size - now, 0)
    return Pruned(
        before=plan.before,
        dry_run=dry,
        store=(size, now),
        unshrunk=unshrunk,
        freed=added(files.values()).bytes + in_store,
        **removed,
    )


def _plan(app: App, older: float) -> _Plan:
    now = seconds(app.store.now())
    with app.read() as view:
        finished = FinishedWork(view, iso(max(now - older, 0.0)))
        detailed = [run.run_id for run in finished.runs.values() if _has_details(view, run)]
        events = [each for each in _calls(view, finished) if finished.has(each.node_id)]
        ended = (run.run_id for run in finished.runs.values() if run.status in runs.TERMINAL)
        old = min(seconds(finished.before), now - QUIET)
        begun = [seconds(run.created_at) for run in finished.left if run.flow == SESSION]
        return _Plan(
            before=finished.before,
            events=events,
            runs=finished.runs.keys(),
            detailed=detailed,
            of_runs=sum(map(view.details.of_run, detailed)),
            needed=view.details.blobs_but_of(ended, [each.event_seq for each in events]),
            files_before=old,
            snapshots_before=min([old, *begun]),
        )


def _has_details(view: View, run: RunOutline) -> bool:
    """Whether a run was not pruned, or not to its end, or had new details since."""
    told = pruned_at(view, run.run_id)
    return told is None or told < run.updated_at or view.details.of_run(run.run_id) > 0


def _calls(view: View, finished: FinishedWork) -> Iterator[Prunable]:
    """Every event before the moment whose hooks are over."""
    place, end = 0, view.log.before(finished.before)
    while found := view.details.prunable(place, end, AT_ONCE):
        yield from found
        place = found[-1].event_seq


def _remove_details(app: App, plan: _Plan) -> None:
    for part in _parts([each.event_seq for each in plan.events]):
        with app.store.write(app.origin.metadata()) as tx:
            tx.details.remove(part)
    waiting = list(plan.detailed)
    while waiting:
        with app.store.write(app.origin.metadata()) as tx:
            for run_id in waiting[:RUNS_AT_ONCE]:
                # From the first row on: whoever looks after a kill knows why others are missing.
                tx.runs.set_value(run_id, runs.PRUNED, tx.now)
                if not tx.details.remove_of_run(run_id, AT_ONCE):
                    break
                waiting.remove(run_id)


def _parts(every: Sequence[T]) -> Iterator[Sequence[T]]:
    return (every[at : at + AT_ONCE] for at in range(0, len(every), AT_ONCE))


# Files


def _sweep_files(app: App, plan: _Plan, *, dry: bool) -> dict[str, Removed]:
    folder, old = app.project.folder, plan.files_before
    reports = {f"{run_id}.html" for run_id in plan.runs}
    # What sessions in the background printed.
    logs = {f"{run_id}.log" for run_id in plan.runs}
    feeds = app.feeds.sweep(plan.runs, dry=dry), _old_files(folder, "logs", 0.0, logs, dry=dry)
    return {
        "feeds": added(feeds),
        "run_folders": _run_folders(app, plan, dry=dry),
        "reports": _old_files(folder, "reports", old, reports, dry=dry),
        "values": _old_files(folder, "values", old, dry=dry),
        "blobs": added(each.sweep(plan.needed, old, dry=dry) for each in _blobs(app)),
        "snapshots": _snapshots(folder, plan.snapshots_before, dry=dry),
    }


def _blobs(app: App) -> list[Blobs]:
    return [app.blobs, open_outputs(app.project)] if is_shared(app) else [app.blobs]


def _run_folders(app: App, plan: _Plan, *, dry: bool) -> Removed:
    place = app.project.runs
    if not os.path.isdir(place):
        return Removed()
    with own_folder(*os.path.split(place)) as folder:
        names = [name for name in os.listdir(folder) if name in plan.runs]
        return added([remove_tree(folder, name, dry=dry) for name in names])


def _old_files(
    top: str, name: str, before: float, named: Collection[str] = (), *, dry: bool
) -> Removed:
    """Remove files from one of our folders: those of these names, and those that are old."""
    if not os.path.isdir(os.path.join(top, name)):
        return Removed()
    with own_folder(*os.path.split(os.path.join(top, name))) as folder:
        return sweep(folder, lambda each, at: each in named or at.st_mtime < before, dry=dry)


def _snapshots(top: str, before: float, *, dry: bool) -> Removed:
    """Remove what git wrote for proofs; it marks what it needs again as new."""
    place = os.path.join(top, "objects")
    names = os.listdir(place) if os.path.isdir(place) else []
    return added([_old_files(place, name, before, dry=dry) for name in names if len(name) == 2])


# The store's file


def _shrink(app: App) -> str | None:
    """Rewrite the store's file without what is unused; why not, if others would have to wait."""
    with app.read() as view:
        leases = [(run.owner, run.lease_until) for run in view.details.runs()]
        leases += [(owner, until) for _, owner, until in view.dispatches.leases()]
    if served_runs(app.project.folder) or any(is_held(view, *each) for each in leases):
        return AT_WORK
    try:
        app.store.compact()
    except (StoreBusy, StoreFull) as problem:
        return f"the store's file keeps its size: {problem.message}"
    return None
