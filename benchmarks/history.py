"""Years of use: what people look at in a store with very many iterations, and pruning it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.long_sessions import lengthen
from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SESSION = "long"
BEGUN = 4
AIM = 1.0
# A pruned store is at most so many times as large as its events.
SIZE_AIM = 2.0
LIMIT = 5
LOOKS = (
    ("status",),
    ("report", "--since", "9w"),
    ("session", "list"),
    ("session", "show", SESSION),
    ("session", "report", SESSION),
)
_TURN = {"run": "date +%N >> work", "text": "working", "repeat": True}
_TURN |= {"usage": {"inputTokens": 1000, "outputTokens": 200, "usd": 0.01}}
_CONFIGURATION = """\
version: 1
agents:
  actor: {driver: scripted, script: turns.json}
session: {guards: {identical_output: 0, no_change: 0, thrashing: 0, quality_regression: 0}}
validation: [{name: tests, type: command, command: "exit 1"}]
hooks:
  post_iteration: [{name: look, command: "seq 100", pipe_output: true}]
  stop: [evidence]
"""
_EVENTS = (
    "SELECT sum(length(timestamp) + length(type) + length(node_id) + length(data)"
    " + length(metadata)) FROM events"
)


class Made(NamedTuple):
    """A project with one long session."""

    root: str
    env: dict[str, str]

    def hookline(self, *words: str, exits: int = 0) -> None:
        """Run a command, as a person does."""
        run((sys.executable, "-m", "hookline", *words), self.root, self.env, exits)


def measure(plan: Plan) -> Iterator[Result]:
    """What people look at, and then pruning."""
    iterations = plan.rounds(10_000, 1_000)
    made = long_session(plan.folder, iterations)
    for words in LOOKS:
        (took,) = by_turns((partial(made.hookline, *words),), plan.rounds(5, 2))
        yield Result(f"{' '.join(words)}, {iterations:,} iterations", took, None, "", AIM)
    yield _pruning(made)


def _pruning(made: Made) -> Result:
    made.hookline("task", "cancel", "T-1")
    before = _size(made)
    start = perf_counter()
    made.hookline("prune", "--older", "0s")
    took, after, events = perf_counter() - start, _size(made), _bytes_of_events(made)
    note = f"{before >> 20} MiB to {after >> 20} MiB, {after / events:.2f} times its events"
    return Result("prune all of it", took, None, f"aim {SIZE_AIM:g} times", None, note)


def long_session(folder: str, iterations: int) -> Made:
    """A project whose one session has so many iterations, and ended at its limit."""
    made = Made(os.path.join(folder, "project"), environment(folder))
    os.makedirs(os.path.join(made.root, ".hookline"))
    files = {"hookline.yaml": _CONFIGURATION, "turns.json": json.dumps([_TURN])}
    for name, text in files.items():
        with open(os.path.join(made.root, name), "w", encoding="utf-8") as file:
            file.write(text)
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "begin")):
        run(("git", *words), made.root, made.env)
    made.hookline("trust", "--yes")
    goal = ("run", "work on it", "--name", SESSION, "--iterations", str(BEGUN))
    made.hookline(*goal, exits=LIMIT)
    if iterations > BEGUN:
        lengthen(_database(made), "R-1", iterations - BEGUN)
    return made


def run(words: tuple[str, ...], folder: str, env: Mapping[str, str], exits: int = 0) -> None:
    """Run a program to its end, which must be this one."""
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode != exits:
        raise RuntimeError(f"{words} exited {done.returncode}: {done.stderr}")


def _database(made: Made) -> str:
    return os.path.join(made.root, ".hookline", "hookline.db")


def _size(made: Made) -> int:
    return os.path.getsize(_database(made))


def _bytes_of_events(made: Made) -> int:

    raw = sqlite3.connect(_database(made))
    try:
        return int(raw.execute(_EVENTS).fetchone()[0])
    finally:
        raw.close()
