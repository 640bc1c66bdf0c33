"""A store on a PostgreSQL server: a change, many writers, a slow network, many workers.

The server comes from the package that tests use; it commits to the disk.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import ExitStack, closing
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psycopg
from tests.postgres_server import running

from benchmarks.measure import Plan, Result, by_turns
from benchmarks.proxy import Wire
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.app import App
from hookline.tasks import claims, verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.postgres_server import PostgresServer

DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")
WRITERS = 8
WORKERS = (1, 10, 50)
LATENCY = 0.003
# Ours may take so many times what the floor takes: 0.4 of its speed.
AIM = 2.5
AIM_FLAT = 1.25
AIM_ADD = 0.060
PLAIN = "INSERT INTO plain (text) VALUES ('measure how fast this is, and nothing else')"
COUNTED = "UPDATE counted SET value = value + 1 RETURNING value"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS plain (id bigserial PRIMARY KEY, text text)",
    "CREATE TABLE IF NOT EXISTS counted AS SELECT 0::bigint AS value",
)


def measure(plan: Plan) -> Iterator[Result]:
    """Everything, over one server."""
    with running(*DURABLE) as server:
        for each in _TABLES:
            server.run(each)
        yield from _one_writer(plan, server)
        yield from _many_writers(plan, server)
        yield from _slow_network(plan, server)
        yield from _many_workers(plan, server)


def _app(folder: str, url: str) -> App:
    root = os.path.join(folder, "project")
    os.makedirs(os.path.join(root, ".hookline"), exist_ok=True)
    home = os.path.join(folder, "home")
    return App.open(root, environ={**os.environ, "HOOKLINE_HOME": home, "HOOKLINE_STORE": url})


def _one_writer(plan: Plan, server: PostgresServer) -> Iterator[Result]:
    rounds, numbers = plan.rounds(1500, 100), cycle(range(9))
    with (
        psycopg.connect(server.url(), autocommit=True) as raw,
        closing(_app(os.path.join(plan.folder, "one"), server.url("one"))) as app,
    ):

        def add() -> None:
            app.change(verbs.add, "measure how fast this is")

        def update() -> None:
            app.change(verbs.update, "T-1", {"priority": next(numbers)})

        add()
        for name, act in (("update a task", update), ("add a task", add)):
            ours, floor = by_turns((act, lambda: raw.execute(PLAIN)), rounds)
            yield Result(f"server: {name}", ours, floor, "a plain INSERT and commit", AIM)


def _many_writers(plan: Plan, server: PostgresServer) -> Iterator[Result]:
    url = server.url("many")
    with closing(PostgresStore(url)) as store, store.write({}) as tx:
        verbs.add(tx, "a task that all write to")
    acts = ((_update_again_and_again, url), (_count_again_and_again, server.url()))
    # By turns, so that noise falls on both alike.
    rates = [[_together(*act, plan.rounds(2, 1)) for act in acts] for _ in range(plan.rounds(5, 1))]
    ours, floor = (median(each) for each in zip(*rates, strict=True))
    told = f"a counter in one statement, {WRITERS} writers"
    yield Result(f"server: update a task, {WRITERS} writers", 1 / ours, 1 / floor, told, AIM)


def _together(act: Callable[[str, float, Any], None], url: str, seconds: float) -> float:
    """How often a second this is done by so many processes at once."""
    context = multiprocessing.get_context("spawn")
    counts = context.Queue()
    processes = [context.Process(target=act, args=(url, seconds, counts)) for _ in range(WRITERS)]
    for each in processes:
        each.start()
    found = sum(counts.get() for _ in processes)
    for each in processes:
        each.join()
    return float(found / seconds)


def _update_again_and_again(url: str, seconds: float, counts: Any) -> None:
    with closing(PostgresStore(url)) as store:

        def update(number: int) -> None:
            with store.write({}) as tx:
                verbs.update(tx, "T-1", {"priority": number % 9})

        counts.put(_count(update, seconds))


def _count_again_and_again(url: str, seconds: float, counts: Any) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        counts.put(_count(lambda number: raw.execute(COUNTED), seconds))


def _count(act: Callable[[int], object], seconds: float) -> int:
    """How often this can be done in a time, after all have had time to start."""
    act(0)
    time.sleep(1.0)
    deadline, count = time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        act(count)
        count += 1
    return count


def _slow_network(plan: Plan, server: PostgresServer) -> Iterator[Result]:
    folder = os.path.join(plan.folder, "slow")
    with Wire(server.folder, Path(folder) / "wire", LATENCY) as wire:
        url = f"postgresql://hookline@/postgres?host={wire.folder}&project=slow"
        _app(folder, url).close()

        def add() -> None:
            with closing(_app(folder, url)) as app:
                app.change(verbs.add, "measure how fast this is")

        (ours,) = by_turns((add,), plan.rounds(50, 5))
        note = f"{LATENCY * 1000:g} ms for each round trip; from opening the project to its close"
        yield Result("server: task add, slow network", ours, None, "", AIM_ADD, note)


def _many_workers(plan: Plan, server: PostgresServer) -> Iterator[Result]:
    """What a task costs the server's clients, as more of them take turns."""
    with ExitStack() as opened:
        acts = []
        for count in WORKERS:
            url = server.url(f"workers-{count}")
            stores = [opened.enter_context(closing(PostgresStore(url))) for _ in range(count)]
            acts.append(partial(_work_on_next, cycle(enumerate(stores))))
        first, *more = by_turns(acts, plan.rounds(400, 50))
    for count, ours in zip(WORKERS[1:], more, strict=True):
        name = f"server: a task's changes, {count} workers"
        yield Result(name, ours, first, "with one worker", AIM_FLAT)


def _work_on_next(workers: Iterator[tuple[int, PostgresStore]]) -> None:
    number, store = next(workers)
    _work_on_one(store, f"worker-{number}")


def _work_on_one(store: PostgresStore, worker: str) -> None:
    with store.write({}) as tx:
        task = verbs.add(tx, "a task")
    with store.read() as view:
        view.graph.ready(20, store.now())
    with store.write({}) as tx:
        claims.claim(tx, task.id, worker, 60.0)
    with store.write({}) as tx:
        tx.runs.leases.renew(worker, store.time() + 60)
    with store.write({}) as tx:
        verbs.complete(tx, task.id, result="done")
