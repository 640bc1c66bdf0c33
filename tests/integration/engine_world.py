"""A project whose flows are functions of a test, and an engine for it in this process."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hookline.adapters.schedulers import local
from hookline.app import App
from hookline.domain.runs.model import OK, Resolution, UnknownFlow
from hookline.domain.runs.projection import RunFold, differences
from hookline.flows import journal
from hookline.flows.definitions.finder import FlowDefinition
from hookline.flows.engine import Done, Parked
from hookline.flows.runner import FlowRunner
from hookline.flows.serving import RunServer
from hookline.ports.schedulers import SchedulerSite
from hookline.wiring.running.engine import engine as make_engine

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.flows.context import Context
    from hookline.ports.store import Transaction


class World:
    """A project whose flows are functions of the test."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        (self.root / ".hookline").mkdir(parents=True)
        self.env = {"HOOKLINE_HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
        self.flows: dict[str, Any] = {}
        self._opened: list[App] = []
        self.open()

    def open(self) -> None:
        """Begin anew, as another process would."""
        self.app = App.open(str(self.root), environ=self.env)
        self._opened.append(self.app)
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.engine = make_engine(self.app, lambda what, details: self.told.append((what, details)))
        self.engine.find_flow = self._find
        self.runner = FlowRunner(self.engine)
        self.server = self.served_by(local)

    def served_by(self, kind: Any, **site: Any) -> RunServer:
        """What has the runs advanced here by a scheduler."""
        owner = self.engine.owner
        return RunServer(
            self.engine,
            kind.open_scheduler(
                SchedulerSite(
                    store=self.app.store,
                    project="shop",
                    host="here",
                    version="0.2.0",
                    environ=self.env,
                    settings=self.app.sections.scheduler,
                    wakeup=self.engine.wakeup,
                    is_free=owner.is_free,
                    **site,
                )
            ),
        )

    def close(self) -> None:
        """Let go of every store."""
        for app in self._opened:
            app.close()

    def _find(self, run: Run) -> FlowDefinition:
        name = run.flow
        if name not in self.flows:
            raise UnknownFlow(f"there is no flow '{name}'")
        function = self.flows[name]
        return FlowDefinition(name, "test", "", lambda ctx, run: function(ctx, **run.input))

    def start(self, function: Any, **given: Any) -> str:
        """A new run of a function."""
        self.flows[function.__name__] = function
        run_id: str = self.app.change(journal.start, function.__name__, given, {}, code_digest="")
        return run_id

    def advance(self, run_id: str) -> Done | Parked:
        """Take the run as far as it goes without waiting for a clock."""
        return asyncio.run(self.engine.advance(run_id))

    def finish(self, function: Any) -> Any:
        """Run a flow to its end; what it returned."""
        run_id = self.start(function)
        result = asyncio.run(self.runner.run_one(run_id))
        assert result == Done("completed"), (result, self.run(run_id).error)
        return self.run(run_id).value

    def run(self, run_id: str) -> Run:
        """A run as it stands."""
        with self.app.read() as view:
            return view.runs.find(run_id)

    def effects(self, run_id: str) -> dict[str, JournalEffect]:
        """The effects of a run by id."""
        with self.app.read() as view:
            return {e.effect_id: e for e in view.runs.effects(view.runs.find(run_id))}

    def post(self, tx: Transaction, run_id: str, effect_id: str, value: Any = True) -> None:
        """A result from outside."""
        run = tx.runs.find(run_id)
        journal.resolve(tx, run, effect_id, Resolution(OK, value), self.engine.blobs)

    def signal(self, run_id: str, name: str, value: Any = None) -> None:
        """A signal to a run."""
        data = {"name": name, "value": value}
        self.app.change(lambda tx: journal.write(tx, "run_signalled", run_id, data))

    def sql(self, statement: str, *values: Any) -> None:
        """Change a row behind Hookline's back."""
        with closing(sqlite3.connect(self.app.project.database)) as connection, connection:
            connection.execute(statement, values)

    def due(self) -> list[str]:
        """Runs that have something to do."""
        with self.app.read() as view:
            return view.runs.leases.due(time.time(), self.engine.owner.is_free)

    def check_tables(self) -> None:
        """The tables are what the journal says."""
        with self.app.read() as view:
            assert list(differences(RunFold().add_all(view.log.events()), view.runs.rows)) == []


async def asks(ctx: Context) -> Any:
    """A flow that waits for a person."""
    return await ctx.breakpoint("Well?", id="ask")
