"""The doctor's look at the store: the file, the log, the tables against the log, the calls."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.identity import owner_is_gone
from hookline.adapters.store.database import (
    SCHEMA_VERSION,
    Database,
    expected_schema,
    schema_of,
)
from hookline.adapters.store.sqlite import View
from hookline.config import load_settings
from hookline.domain.projection import LISTS, Fold
from hookline.domain.tasks import task_id
from hookline.errors import LinkedFolder, StoreCorrupt, StoreError, StoreReplaced
from hookline.files import refuse_links
from hookline.surfaces.cli.doctor_checks import OK, failed, guarded, many, ok, skipped, warning
from hookline.surfaces.cli.doctor_flows import flow_checks
from hookline.surfaces.cli.doctor_runs import run_checks
from hookline.surfaces.cli.hook_record import (
    SLOW_EVENT_US,
    SLOW_HOOK_US,
    TAKE_TIME,
    seconds,
    statistics,
)
from hookline.trust import configured_hooks, recorded_store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from hookline.project import Project
    from hookline.surfaces.cli.doctor_checks import Check

SHOWN = 3
MOST_DIFFERENCES = 1000
# Derived from other columns, perishable, or the key itself: not in the log.
NOT_FOLDED = frozenset({"number", "lease_until", "unmet", "rank"})


def store_checks(project: Project, home: str) -> Iterator[Check]:
    """Everything about the store; it is opened for reading only."""
    if not os.path.lexists(project.database):
        yield skipped("store", "there is none yet", "hookline init")
        return
    try:
        refuse_links(project.folder)
    except LinkedFolder as problem:
        yield skipped("store", f"it is not opened: {problem.message}", str(problem.help))
        return
    try:
        database = Database(project.database, read_only=True)
    except (StoreCorrupt, StoreReplaced) as problem:
        yield failed("store", problem.message, _restore(project))
        return
    except StoreError as problem:
        fix = "make it readable; an older one is upgraded by the next command that writes"
        yield failed("store", problem.message, fix)
        return
    try:
        with database.snapshot() as connection:
            yield from _file_checks(connection, project, home)
    finally:
        database.close()


def _restore(project: Project) -> str:
    path = project.database
    return f"restore it from a backup, or start anew: mv '{path}' '{path}.damaged'"


def _file_checks(connection: sqlite3.Connection, project: Project, home: str) -> Iterator[Check]:
    sound = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
    if sound != ["ok"]:
        yield failed("store", f"the file is damaged: {'; '.join(sound)}", _restore(project))
        return
    yield ok("store", f"opens, schema {SCHEMA_VERSION}, the file is sound")
    foreign = sorted({name for name, _ in schema_of(connection) ^ expected_schema()})
    if foreign:
        message = f"its schema is not Hookline's: {', '.join(foreign[:SHOWN])}"
        yield failed("store schema", message, _restore(project))
        return
    row = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()
    if row is None:
        yield failed("store identity", "the store has lost its identity", _restore(project))
        return
    recorded = recorded_store(home, project)
    if recorded == str(row[0]):
        yield ok("store owner", "you made or adopted it")
    else:
        theirs = "you did not make it" if recorded is None else "it is not yours: it was replaced"
        message = f"{theirs}: it is only read, commands that write are refused"
        yield warning("store owner", message, "look at it, then run: hookline trust")
    view = View(connection, str(row[0]))
    fold = Fold()
    for each in guarded("log", lambda: _log_checks(view, fold)):
        yield each
        if each.status == OK:
            yield from guarded("tables", lambda: _table_checks(view, fold))
    yield from guarded("calls", lambda: _call_checks(view, connection))
    yield from guarded("failing hooks", lambda: _failing(view, project, home))
    yield from guarded("runs", lambda: run_checks(view))
    yield from guarded("flows", lambda: flow_checks(view))


# The log and the tables


def _log_checks(view: View, fold: Fold) -> Iterator[Check]:
    expected = gap = 0
    for event in view.log.stream():
        expected += 1
        if event.seq != expected and not gap:
            gap = expected
        fold.add(event)
    if gap or expected != view.log.last():
        place = gap or expected + 1
        missing = many(abs(view.log.last() - expected), "event")
        message = f"{missing} too few, the first gap is at {place}"
        yield failed("log", message, "restore .hookline/ from a backup: somebody edited the log")
    else:
        yield ok("log", f"{many(expected, 'event')} without a gap")


def _table_checks(view: View, fold: Fold) -> Iterator[Check]:
    found = list(islice(differences(fold, view), MOST_DIFFERENCES))
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        message = f"they are not what the log says: {'; '.join(found[:SHOWN])}{more}"
        fix = "keep a copy of .hookline/ and restore it from a backup; if nobody edited it, report"
        yield failed("tables", message, f"{fix} this")
    else:
        yield ok("tables", f"{many(len(fold.tasks), 'task')}, as folding the log gives them")


def differences(fold: Fold, view: View) -> Iterator[str]:
    """Where the tables are not what folding the log gives."""
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


def _row_differences(identifier: str, row: dict[str, Any], fold: Fold) -> Iterator[str]:
    columns = fold.tasks[identifier]
    for name, stored in row.items():
        if name in NOT_FOLDED:
            continue
        value = tuple(msgspec.json.decode(stored)) if name in LISTS else stored
        said = columns.get(name, () if name in LISTS else None)
        if value != said:
            yield f"{name} of {identifier} is {_short(value)}, the log says {_short(said)}"
    if row["unmet"] != fold.unmet(identifier):
        yield f"{identifier} waits for {row['unmet']} tasks, the log says {fold.unmet(identifier)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


# The calls of hooks


def _call_checks(view: View, connection: sqlite3.Connection) -> Iterator[Check]:
    yield _waiting(view, connection)
    yield _lost(connection)
    dead = view.calls.dead()
    if dead:
        shown = ", ".join(f"{each.hook} at event {each.event_seq}" for each in dead[:SHOWN])
        message = f"{many(len(dead), 'call')} given up: {shown}"
        yield warning("dead letters", message, f"hookline why {dead[0].event_seq}")
    else:
        yield ok("dead letters", "none")
    yield _slow(view)


def _failing(view: View, project: Project, home: str) -> Iterator[Check]:
    """Configured hooks whose last call or action failed."""
    hooks = configured_hooks(load_settings(project, home))
    names = sorted({hook.name for hook in hooks})
    found = [row for name in names for row in view.calls.last_failures(name)]
    if found:
        failing = len({row.hook for row in found})
        shown = "; ".join(str(row.failure) for row in found[:SHOWN])
        message = f"{many(failing, 'hook')} failed when last called: {shown}"
        yield warning("failing hooks", message, f"hookline why {found[0].event_seq}")
    elif hooks:
        yield ok("failing hooks", "none")


def _waiting(view: View, connection: sqlite3.Connection) -> Check:
    rows = connection.execute(
        "SELECT event_seq, owner, lease_until FROM dispatches ORDER BY event_seq"
    ).fetchall()
    if not rows:
        return ok("waiting", "no event waits for its hooks")
    event = view.log.find(rows[0][0])
    since = f", the first since {event.timestamp}" if event else ""
    idle = [seq for seq, owner, until in rows if not _is_held(owner, until)]
    if not idle:
        return ok("waiting", f"hooks run now for {many(len(rows), 'event')}{since}")
    message = f"hooks wait to be called for {many(len(idle), 'event')}, from event {idle[0]}{since}"
    return warning("waiting", message, "hookline work --flows --once")


def _is_held(owner: str | None, until: float) -> bool:
    return owner is not None and until > time.time() and not owner_is_gone(owner)


def _lost(connection: sqlite3.Connection) -> Check:
    """Calls and actions that are still to be done, of events that nobody will look at again."""
    (calls,) = connection.execute(
        "SELECT count(*) FROM deliveries WHERE status = 'pending'"
        " AND event_seq NOT IN (SELECT event_seq FROM dispatches)"
    ).fetchone()
    (actions,) = connection.execute(
        "SELECT count(*) FROM actions WHERE status = 'pending'"
        " AND event_seq NOT IN (SELECT event_seq FROM dispatches)"
    ).fetchone()
    if calls or actions:
        message = f"{many(calls, 'call')} and {many(actions, 'action')} that nobody will see to"
        return failed("pending", message, "please report this with a copy of .hookline/")
    return ok("pending", "every call and action is done, or its event waits")


def _slow(view: View) -> Check:
    slow = [row for row in statistics(view) if row["slow"]]
    events = view.calls.slow_events(SLOW_EVENT_US, TAKE_TIME)
    if not slow and not events:
        return ok("speed", f"no hook is slower than {seconds(SLOW_HOOK_US)} (p95)")
    slow.sort(key=lambda row: -row["p95Ms"])
    shown = ", ".join(f"{row['name']} {row['p95Ms']:,.0f} ms" for row in slow[:SHOWN])
    more = f" and {len(slow) - SHOWN} more" if len(slow) > SHOWN else ""
    parts = [f"slower than {seconds(SLOW_HOOK_US)} (p95): {shown}{more}"] if slow else []
    if events:
        parts.append(f"{many(events, 'event')} took over {seconds(SLOW_EVENT_US)} in all")
    return warning("speed", "; ".join(parts), "hookline hook stats")
