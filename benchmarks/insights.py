"""Insights over 100,000 events and 2,000 sessions: each table with its charts, in both stores."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from time import process_time
from typing import TYPE_CHECKING

from tests.postgres_server import running

from benchmarks.many_sessions import SESSIONS, multiply, recorded_day
from benchmarks.measure import Plan, Result, by_turns
from hookline.adapters.store.copying import copy_rows
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.adapters.store.sqlite import SqliteStore
from hookline.app import App
from hookline.insights import TABLES, Selection, insights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AIM = 0.3
WEEK = 7 * 86400.0
WEEKS = 26


def measure(plan: Plan) -> Iterator[Result]:
    """Each table as people see it: its rows, its figures by week, and its advice."""
    sessions = plan.rounds(2_000, 500)
    made = recorded_day(plan.folder)
    path, copies = os.path.join(made.root, ".hookline", "hookline.db"), -(-sessions // SESSIONS) - 1
    multiply(path, copies, WEEKS * WEEK / copies)
    yield from _tables(plan, made.root, made.env, "")
    with running() as server:
        source, target = SqliteStore(path, read_only=True), PostgresStore(server.url("insights"))
        with closing(source), closing(target):
            copy_rows(source, target, lambda view: None)
        # As the server itself does after a while.
        server.run("ANALYZE")
        env = {**made.env, "HOOKLINE_STORE": server.url("insights")}
        yield from _tables(plan, made.root, env, "server: ")


def _tables(plan: Plan, root: str, env: Mapping[str, str], where: str) -> Iterator[Result]:
    with closing(App.open(root, environ=env, read_only=True)) as app:
        with app.read() as view:
            (last,) = view.log.tail(1)
        # Most of the copies are of days to come.
        asked = Selection(until=last.timestamp)
        for name in TABLES:
            act = partial(insights, app, asked, (name,))
            (took,) = by_turns((act,), plan.rounds(5, 2))
            began = process_time()
            act()
            # On a shared machine it says more; what a server computes is not in it.
            note = f"{(process_time() - began) * 1000:.0f} ms of the processor here"
            yield Result(f"{where}insights {name}, {last.seq:,} events", took, None, "", AIM, note)
