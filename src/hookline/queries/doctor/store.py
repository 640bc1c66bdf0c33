"""The doctor's checks of the store: the file, the log, the tables against the log, the calls."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config import load_settings
from hookline.domain.announcements import Announced
from hookline.domain.announcements import fold as fold_announcement
from hookline.domain.hooks.names import short_name
from hookline.domain.projection import LISTS, Fold
from hookline.domain.tasks import task_id
from hookline.domain.text.display import shortened
from hookline.domain.text.excerpts import first_few
from hookline.errors import LinkedFolder, StoreAbsent, StoreCorrupt, StoreError, StoreReplaced
from hookline.files import refuse_links
from hookline.hooks.history.metrics import (
    SLOW_EVENT_US,
    SLOW_HOOK_US,
    TAKE_TIME,
    seconds,
    statistics,
)
from hookline.queries.doctor.checks import (
    FAILED,
    OK,
    Diagnosis,
    failed,
    guarded,
    many,
    ok,
    skipped,
    warning,
)
from hookline.queries.doctor.runs import flow_checks, host_checks, run_checks
from hookline.trust.stores import recorded_store
from hookline.wiring.project.configured import load_configuration, shared, trust_in
from hookline.wiring.running.hosts import is_held
from hookline.wiring.working.inspection import StoreInspection, inspected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.ports.store import View
    from hookline.project import Project
    from hookline.wiring.project.servers import Durability, ServerInspection
    from hookline.wiring.project.shared import SharedStore

SHOWN = 3
MOST_DIFFERENCES = 1000
# Derived from other columns, perishable, or the key itself: not in the log.
NOT_FOLDED = frozenset({"number", "lease_until", "unmet", "rank"})


def store_checks(project: Project, home: str) -> Iterator[Diagnosis]:
    """Everything about the store; it is opened for reading only."""
    settings = load_configuration(project, home)
    trust = trust_in(project, home, settings, os.environ) if settings is not None else None
    place = shared(project, home, settings, trust, os.environ)
    if place is not None:
        yield from _on_server(place, project, home)
        return
    if not os.path.lexists(project.database):
        yield skipped("store", "there is none yet", "hookline init")
        return
    try:
        refuse_links(project.folder)
    except LinkedFolder as problem:
        yield skipped("store", f"not opened: {problem.message}", str(problem.help))
        return
    with ExitStack() as opened:
        try:
            store = opened.enter_context(inspected(project.database))
        except (StoreCorrupt, StoreReplaced) as problem:
            yield failed("store", problem.message, _restore(project))
        except StoreError as problem:
            fix = "make it readable; an older one is upgraded by the next command that writes"
            yield failed("store", problem.message, fix)
        else:
            yield from _file_checks(store, project, home)


def _on_server(place: SharedStore, project: Project, home: str) -> Iterator[Diagnosis]:
    from hookline.wiring.project.servers import inspected_server  # few projects have one

    try:
        with inspected_server(place.url) as store:
            yield from _checks(store, project, home, f"{place.shown}, schema {store.schema}")
            for lost in store.lost:
                yield failed("acknowledged", lost, "hookline store reconcile")
            yield _durability(store.durability())
            yield _wakeups(is_told=store.is_told(place.listen))
    except StoreAbsent:
        yield skipped("store", f"there is none yet at {place.shown}", "hookline init")
    except StoreError as problem:
        yield failed("store", problem.message, problem.help or "look at the log of the server")


def _durability(found: Durability) -> Diagnosis:
    """Whether what was acknowledged can be lost."""
    name = "durability"
    if not found.writes_out or found.commit == "off":
        which = "fsync" if not found.writes_out else "synchronous_commit"
        message = f"{which} is off: a crash of the server loses changes that were acknowledged"
        return warning(name, message, f"set {which} = on on the server")
    waits = found.commit in ("on", "remote_apply") and found.synchronous
    if waits:
        return ok(name, f"replication is synchronous: {found.synchronous}")
    if found.standbys:
        message = "replication is asynchronous: a failover loses changes that were acknowledged"
        fix = "set synchronous_standby_names and synchronous_commit = on on the server"
        return warning(name, message, fix)
    return ok(name, "no standby follows the server; only a backup survives the loss of its disk")


def _wakeups(*, is_told: bool) -> Diagnosis:
    """Whether those who wait are woken by what is stored."""
    if is_told:
        return ok("wake-ups", "waiting processes hear about changes at once")
    message = "there is a pooler in between: waiting processes look for changes every second"
    return warning("wake-ups", message, "name the server itself as `store_listen:`")


def _restore(project: Project) -> str:
    path = project.database
    return f"restore it from a backup, or start over: mv '{path}' '{path}.damaged'"


def _file_checks(store: StoreInspection, project: Project, home: str) -> Iterator[Diagnosis]:
    if damage := store.damage():
        yield failed("store", f"the file is damaged: {'; '.join(damage)}", _restore(project))
        return
    yield from _checks(store, project, home, f"opens, schema {store.schema}, the file is intact")


def _checks(
    store: StoreInspection | ServerInspection, project: Project, home: str, found: str
) -> Iterator[Diagnosis]:
    yield ok("store", found)
    if foreign := store.foreign_objects():
        message = f"its schema is not Hookline's: {', '.join(foreign[:SHOWN])}"
        yield failed("store schema", message, _restore(project))
        return
    store_id = store.store_id()
    if store_id is None:
        yield failed("store identity", "the store has lost its identity", _restore(project))
        return
    recorded = recorded_store(home, project)
    if recorded == store_id:
        yield ok("store owner", "you created or adopted it")
    else:
        theirs = "you did not create it" if recorded is None else "it was replaced by another one"
        message = f"{theirs}: it is read-only, commands that write are refused"
        tell = warning if recorded is None else failed
        yield tell("store owner", message, "look at it, then run: hookline trust")
    view = store.view(store_id)
    fold, announced = Fold(), dict[str, Announced]()
    for each in guarded("log", lambda: _log_checks(view, fold, announced)):
        yield each
        if each.status == OK:
            yield from guarded("tables", lambda: _table_checks(view, fold, announced))
    yield from guarded("calls", lambda: _call_checks(view))
    yield from guarded("failing hooks", lambda: _failing(view, project, home))
    yield from guarded("runs", lambda: run_checks(view))
    yield from guarded("flows", lambda: flow_checks(view))
    yield from guarded("hosts", lambda: host_checks(view))


def broken(view: View) -> list[Diagnosis]:
    """Where a store is not what its log says."""
    fold, announced = Fold(), dict[str, Announced]()
    found = [*_log_checks(view, fold, announced), *_table_checks(view, fold, announced)]
    return [each for each in (*found, *run_checks(view)) if each.status == FAILED]


# The log and the tables


def _log_checks(view: View, fold: Fold, announced: dict[str, Announced]) -> Iterator[Diagnosis]:
    expected = gap = 0
    for event in view.log.stream():
        expected += 1
        if event.seq != expected and not gap:
            gap = expected
        fold.add(event)
        fold_announcement(announced, event)
    if gap or expected != view.log.last():
        place = gap or expected + 1
        missing = many(abs(view.log.last() - expected), "event")
        message = f"{missing} missing, the first gap is at {place}"
        yield failed("log", message, "someone edited the log: restore .hookline/ from a backup")
    else:
        yield ok("log", f"{many(expected, 'event')} without a gap")


def _table_checks(view: View, fold: Fold, announced: dict[str, Announced]) -> Iterator[Diagnosis]:
    different = chain(differences(fold, view), _unlike(announced, view))
    found = list(islice(different, MOST_DIFFERENCES))
    if found:
        message = f"they differ from the log: {first_few(found, SHOWN, '; ')}"
        fix = "keep a copy of .hookline/ and restore it from a backup; if nobody edited it, report"
        yield failed("tables", message, f"{fix} this")
    else:
        yield ok("tables", f"{many(len(fold.tasks), 'task')}, matching the log")


def differences(fold: Fold, view: View) -> Iterator[str]:
    """Where the tables differ from the log."""
    seen = set()
    for row in view.graph.rows():
        identifier = task_id(row["number"])
        seen.add(identifier)
        if identifier not in fold.tasks:
            yield f"{identifier} is not in the log"
            continue
        yield from _row_differences(identifier, row, fold)
    yield from (f"{each} is missing" for each in fold.tasks if each not in seen)
    edges = {(each.from_id, each.type, each.to_id) for each in view.graph.edges()}
    for source, kind, target in sorted(edges ^ fold.edges):
        where = "is missing" if (source, kind, target) in fold.edges else "is not in the log"
        yield f"the edge {source} {kind} {target} {where}"
    if view.graph.misranked():
        yield f"{view.graph.misranked()} dependencies break the kept order"


def _unlike(announced: dict[str, Announced], view: View) -> Iterator[str]:
    """Where what people were told differs from the log."""
    stored = view.announcements.all()
    for key in sorted({*stored, *announced}):
        if stored.get(key) != announced.get(key):
            yield f"the announcement '{shortened(repr(key), 40)}' is not what the log says"


def _row_differences(identifier: str, row: dict[str, Any], fold: Fold) -> Iterator[str]:
    columns = fold.tasks[identifier]
    for name, stored in row.items():
        if name in NOT_FOLDED:
            continue
        value = tuple(msgspec.json.decode(stored)) if name in LISTS else stored
        said = columns.get(name, () if name in LISTS else None)
        if value != said:
            seen, logged = (shortened(repr(each), 40) for each in (value, said))
            yield f"{name} of {identifier} is {seen}, the log says {logged}"
    if row["unmet"] != fold.unmet(identifier):
        yield f"{identifier} waits for {row['unmet']} tasks, the log says {fold.unmet(identifier)}"


# The calls of hooks


def _call_checks(view: View) -> Iterator[Diagnosis]:
    yield _waiting(view)
    yield _lost(view)
    dead = view.calls.dead()
    if dead:
        shown = ", ".join(
            f"{short_name(each.hook)} at event {each.event_seq}" for each in dead[:SHOWN]
        )
        message = f"{many(len(dead), 'call')} given up: {shown}"
        yield warning("dead letters", message, f"hookline why {dead[0].event_seq}")
    else:
        yield ok("dead letters", "none")
    yield _slow(view)


def _failing(view: View, project: Project, home: str) -> Iterator[Diagnosis]:
    """Configured hooks whose last call or action failed."""
    hooks = load_settings(project, home).all_hooks
    names = sorted({hook.name for hook in hooks})
    found = [row for name in names for row in view.calls.last_failures(name)]
    if found:
        failing = len({row.hook for row in found})
        shown = "; ".join(str(row.failure) for row in found[:SHOWN])
        message = f"{many(failing, 'hook')} failed when last called: {shown}"
        yield warning("failing hooks", message, f"hookline why {found[0].event_seq}")
    elif hooks:
        yield ok("failing hooks", "none")


def _waiting(view: View) -> Diagnosis:
    rows = view.dispatches.leases()
    if not rows:
        return ok("waiting", "no event waits for its hooks")
    event = view.log.find(rows[0][0])
    since = f", the first since {event.timestamp}" if event else ""
    idle = [seq for seq, owner, until in rows if not is_held(view, owner, until)]
    if not idle:
        return ok("waiting", f"hooks run now for {many(len(rows), 'event')}{since}")
    message = f"hooks wait to be called for {many(len(idle), 'event')}, from event {idle[0]}{since}"
    return warning("waiting", message, "hookline work --flows --once")


def _lost(view: View) -> Diagnosis:
    calls, actions = view.calls.lost()
    if calls or actions:
        message = f"{many(calls, 'call')} and {many(actions, 'action')} that will never be handled"
        return failed("pending", message, "please report this with a copy of .hookline/")
    return ok("pending", "every call and action is done, or its event waits")


def _slow(view: View) -> Diagnosis:
    slow = [row for row in statistics(view) if row.slow]
    events = view.calls.slow_events(SLOW_EVENT_US, TAKE_TIME)
    if not slow and not events:
        return ok("speed", f"no hook is slower than {seconds(SLOW_HOOK_US)} (p95)")
    slow.sort(key=lambda row: -row.p95_ms)
    shown = first_few([f"{row.name} {row.p95_ms:,.0f} ms" for row in slow], SHOWN)
    parts = [f"slower than {seconds(SLOW_HOOK_US)} (p95): {shown}"] if slow else []
    if events:
        parts.append(f"{many(events, 'event')} took over {seconds(SLOW_EVENT_US)} in all")
    return warning("speed", "; ".join(parts), "hookline hook stats")
