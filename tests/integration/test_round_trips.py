"""How often a store on a server is asked: each time costs what the network takes."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from benchmarks.proxy import Wire

from hookline.app import App
from hookline.flows.engine import Parked
from hookline.tasks import verbs
from hookline.wiring.running.engine import engine
from hookline.wiring.running.flows import start_flow
from tests.in_process import run_in_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import PostgresServer

FLOWS = """\
flows:
  asks: {steps: [{id: ok, breakpoint: "Ship it?"}]}
  naps: {steps: [{id: nap, sleep: 1h}]}
"""


@pytest.fixture
def wire(postgres: PostgresServer, tmp_path: Path) -> Iterator[Wire]:
    with Wire(postgres.folder, tmp_path / "wire") as found:
        yield found


@pytest.fixture
def app(wire: Wire, tmp_path: Path) -> Iterator[App]:
    root = tmp_path / "project"
    (root / ".hookline").mkdir(parents=True)
    (root / "hookline.yaml").write_text(f"version: 1\n{FLOWS}")
    url = f"postgresql://hookline@/postgres?host={wire.folder}&project={os.urandom(8).hex()}"
    environ = {**os.environ, "HOOKLINE_HOME": str(tmp_path / "home"), "HOOKLINE_STORE": url}
    assert run_in_process(("trust", "--yes"), cwd=root, env=environ).returncode == 0
    App.open(str(root), environ=environ).close()
    with closing(App.open(str(root), environ=environ)) as opened:
        yield opened


def test_a_task_is_added_and_started_in_a_few_round_trips(app: App, wire: Wire) -> None:
    wire.take()
    app.change(verbs.add, "a task")
    assert 0 < wire.take() <= 6
    app.change(verbs.start, "T-1")
    assert 0 < wire.take() <= 6


@pytest.mark.parametrize("count", [1, 100])
def test_ready_tasks_are_found_by_two_statements(app: App, wire: Wire, count: int) -> None:
    for number in range(count):
        app.change(verbs.add, f"task {number}", depends_on=["T-1"] if number > 50 else [])
    with app.read() as view:
        wire.take()
        assert len(view.graph.ready(count, app.store.now())) == min(count, 51)
        assert 0 < wire.take() <= 2


@pytest.mark.parametrize("flow", ["asks", "naps"])
def test_a_run_that_waits_is_looked_at_in_a_few_round_trips(
    app: App, wire: Wire, flow: str
) -> None:
    run = app.change(lambda tx: start_flow(app, tx, flow, {}))

    async def advance() -> None:
        made = engine(app)
        assert isinstance(await made.advance(run), Parked)
        with app.read() as view:
            before = view.log.last()
        wire.take()
        for _ in range(10):
            assert isinstance(await made.advance(run), Parked)
            assert 0 < wire.take() <= 6
        with app.read() as view:
            assert view.log.last() == before

    asyncio.run(advance())
