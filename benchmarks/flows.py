"""Runs of flows: an effect in the journal, an iteration, a step, and the command that posts."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks.commands import FLOOR, install
from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import new_project
from hookline.adapters.store.blobs import FileBlobs
from hookline.adapters.store.runs import SQL
from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.runs.model import OK, Request, Resolution
from hookline.flows import journal
from hookline.flows.replay import digest
from hookline.wiring.running.engine import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.commands import Installed
    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context

EFFECT_AIM = 2.0
POST_AIM = 6.0
SAME_ROWS = "the two appends with the same rows in raw sqlite3"
_NOW = "2026-01-17T10:00:00.000Z"
_METADATA = '{"triggeredBy":"somebody"}'
_ARGS = {"command": "make lint", "check": True, "env": {}}
_VALUE = {"exitCode": 0, "stdout": "all checks passed\n", "stderr": ""}


def measure(plan: Plan) -> Iterator[Result]:
    """An effect, an iteration, a step of a running flow, and `effect post`."""
    yield from _effects(plan)
    yield from _iterations(plan)
    yield from _posts(plan)


# One effect: requested, then resolved


def _effects(plan: Plan) -> Iterator[Result]:
    app = new_project(os.path.join(plan.folder, "effects"))
    raw = RawJournal(plan.folder)
    act = journaled_effect(app)
    try:
        ours, floor = by_turns((act, raw.effect), plan.rounds(1500, 200))
    finally:
        raw.close()
        app.close()
    yield Result("flow: journal an effect, asked and answered", ours, floor, SAME_ROWS, EFFECT_AIM)


def journaled_effect(app: App) -> Callable[[], None]:
    """What asks for one more effect of a run and resolves it, a commit for each."""
    run_id = app.change(journal.start, "bench", {}, {}, code_digest="")
    with app.read() as view:
        run: Run = view.runs.find(run_id)
    blobs = FileBlobs(app.project.blobs)
    numbers = iter(range(10**9))

    def act() -> None:
        effect_id = f"lint#{next(numbers)}"
        asked = Request(effect_id, "lint", "node", _ARGS, {}, {}, digest("node", _ARGS))
        app.change(journal.request, run, [asked])
        app.change(journal.resolve, run, effect_id, Resolution(OK, _VALUE), blobs)

    return act


class RawJournal:
    """The journal's own tables and durability, written with nothing but SQL."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "raw-journal.db")
        SqliteStore(path).close()
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._run = self._connection.execute
        self._run("PRAGMA synchronous = FULL")
        self._seq = 0
        self._args, self._value = _text(_ARGS), _text(_VALUE)
        self._asked = _text(
            {
                "chapter": 1,
                "effectId": "lint#1000",
                "step": "lint",
                "kind": "node",
                "args": _ARGS,
                "digest": "0" * 16,
                "metadata": {},
                "policy": {},
                "checksum": "0" * 16,
            }
        )
        self._answered = _text(
            {
                "chapter": 1,
                "effectId": "lint#1000",
                "status": "ok",
                "value": _VALUE,
                "checksum": "0" * 16,
            }
        )
        self._run(SQL["insert_run"], (1, "bench", "{}", "{}", "", "{}", _NOW, _NOW))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def effect(self) -> None:
        """Two transactions: an event with a row, an event with the row's result."""
        key = (1, 1, f"lint#{self._seq}")
        self._run("BEGIN IMMEDIATE")
        self._event("effect_requested", self._asked)
        row = (*key, "lint", "node", self._args, "0" * 16, "{}", "{}", self._seq, _NOW)
        self._run(SQL["insert_effect"], row)
        self._commit()
        self._run("BEGIN IMMEDIATE")
        self._event("effect_resolved", self._answered)
        self._run(SQL["resolve_effect"], ("ok", self._value, None, self._seq, _NOW, *key))
        self._run(SQL["wake"], (_NOW, 1))
        self._commit()

    def _event(self, kind: str, data: str) -> None:
        self._seq += 1
        values = (self._seq, _NOW, kind, "R-1", data, _METADATA)
        self._run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", values)

    def _commit(self) -> None:
        self._run("UPDATE counters SET seq = ?", (self._seq,))
        self._run("COMMIT")


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# Ticks and steps of a run that the engine advances


STEPS = 200


async def wait(ctx: Context) -> None:
    """A flow that waits for a person."""
    await ctx.breakpoint("Go on?")


async def steps(ctx: Context) -> None:
    """A flow of many steps that do nothing."""
    for _ in range(STEPS):
        await ctx.noop()


def _iterations(plan: Plan) -> Iterator[Result]:
    app = new_project(os.path.join(plan.folder, "iterations"))
    loop = asyncio.new_event_loop()
    driver = engine(app)
    parked = app.change(journal.start, f"{__name__}:wait", {}, {}, code_digest="")

    def iterate() -> None:
        loop.run_until_complete(driver.advance(parked))

    def run() -> None:
        run_id = app.change(journal.start, f"{__name__}:steps", {}, {}, code_digest="")
        loop.run_until_complete(driver.advance(run_id))

    try:
        (iterated,) = by_turns((iterate,), plan.rounds(300, 40))
        (stepped,) = by_turns((run,), plan.rounds(10, 2))
    finally:
        loop.close()
        app.close()
    note = "lease, replay, built-in hooks at both ends, park"
    yield Result("flow: an iteration with built-in hooks", iterated, None, "", None, note)
    yield Result("flow: a step of a running flow", stepped / STEPS, None, "", None, "a noop")


# The whole command


def _posts(plan: Plan) -> Iterator[Result]:
    installed = install(os.path.join(plan.folder, "installed"))
    rounds = plan.rounds(60, 12)
    root = os.path.join(plan.folder, "posts")
    waiting_run(installed, root, rounds + 1)
    numbers = iter(range(rounds + 1))

    def python() -> None:
        installed.run("python", "-c", "pass", cwd=root)

    def post() -> None:
        installed.run("hookline", *post_words(next(numbers)), cwd=root)

    floor, ours = by_turns((python, post), rounds)
    yield Result("hookline effect post", ours, floor, FLOOR, POST_AIM)


def waiting_run(installed: Installed, root: str, count: int) -> None:
    """A project with one run, R-1, that waits for so many results."""
    os.makedirs(os.path.join(root, ".hookline"))
    steps = "".join(f"          - {{id: s{n}, breakpoint: wait}}\n" for n in range(count))
    head = "version: 1\nflows:\n  wait:\n    steps:\n      - id: all\n        parallel:\n"
    with open(os.path.join(root, "hookline.yaml"), "w", encoding="utf-8") as file:
        file.write(head + steps)
    installed.run("hookline", "trust", "--yes", cwd=root)
    installed.run("hookline", "flow", "start", "wait", "--detach", cwd=root)


def post_words(number: int) -> tuple[str, ...]:
    """The command that posts one of these results."""
    return ("effect", "post", "R-1", f"all/s{number}", "--status", "ok", "--value", "1")
