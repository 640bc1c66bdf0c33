"""Stores with very many tasks and sessions, made in seconds: a recorded day is written again.

The copies go through the store's own verbs, as in `long_sessions`; each is about tasks and runs of
its own, some time after the one before.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks.history import Made, run
from benchmarks.long_sessions import Recorded
from benchmarks.stores import environment
from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.events import RUN_EVENTS
from hookline.domain.sessions.model import STANDING
from hookline.domain.timestamps import iso, seconds
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.adapters.store.store import Transaction

SESSIONS = 6
LIMIT = 5
_NAMED = re.compile(r"\b([TR])-(\d+)\b")
_TURN = re.compile(r'("turn":"[^"]*)"')
_USAGE = {"usage": {"inputTokens": 1000, "outputTokens": 200, "usd": 0.01}}
_WORK = {"run": "date +%N >> work-$HOOKLINE_TASK_ID", "text": "working", **_USAGE}
_DONE = {**_WORK, "text": "<promise>COMPLETE</promise>"}
_FIX = {**_WORK, "run": "echo told >> CHANGES"}
_CONFIGURATION = """\
version: 1
agents:
  ada: {driver: scripted, script: ada.json}
  bo: {driver: scripted, script: bo.json}
validation: [{name: tests, type: command, command: "test $HOOKLINE_ITERATION != 2"}]
hooks:
  post_iteration: [{name: look, command: "exit 1"}]
task_types:
  text: {hooks: {before_submit: [{name: changes, command: "test -s CHANGES"}]}}
gates: {test: "true"}
"""


def recorded_day(folder: str) -> Made:
    """A project in which a task was merged after a gate rejected it, and others were only begun."""
    made = Made(os.path.join(folder, "project"), environment(folder))
    os.makedirs(os.path.join(made.root, ".hookline"))
    files = {
        "hookline.yaml": _CONFIGURATION,
        "ada.json": json.dumps([_DONE, {**_FIX, "repeat": True}]),
        "bo.json": json.dumps([{**_WORK, "repeat": True}]),
    }
    for name, text in files.items():
        with open(os.path.join(made.root, name), "w", encoding="utf-8") as file:
            file.write(text)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "bench"),
        ("config", "user.email", "bench@example.com"),
        ("add", "-A"),
        ("commit", "-q", "-m", "begin"),
    ):
        run(("git", *words), made.root, made.env)
    made.hookline("trust", "--yes")
    made.hookline("task", "add", "write it", "--type", "text")
    made.hookline("work", "--once", "--agent", "ada")
    for number in range(1, SESSIONS):
        goal = ("run", "look at it", "--name", f"look-{number}", "--agent", "bo")
        made.hookline(*goal, "--iterations", str(1 + (number == 1)), exits=LIMIT)
    return made


def multiply(path: str, copies: int, apart: float) -> None:
    """Write all that the log has of tasks and runs again, so often, each `apart` seconds later."""
    store = SqliteStore(path)
    # Nothing else knows this file yet, so order on the disk is not needed.
    store._database.connection.execute("PRAGMA synchronous = OFF")
    with closing(store):
        with store.read() as view:
            everything = [
                Recorded(each, view.calls.payload(each.seq), view.calls.deliveries(each.seq))
                for each in view.log.stream()
                if _NAMED.fullmatch(each.node_id)
            ]
            runs = {each.event.node_id for each in everything if each.event.node_id[0] == "R"}
            ended = {each: view.runs.value(each, STANDING) for each in runs}
        last = {kind: _last(everything, kind) for kind in "TR"}
        for copy in range(1, copies + 1):
            more = {kind: copy * number for kind, number in last.items()}
            with store.write({}) as tx:
                _write(tx, everything, more, copy * apart)
                for name, standing in ended.items():
                    if standing is not None:
                        tx.runs.set_value(_renamed(name, more), STANDING, standing)


def _last(everything: Sequence[Recorded], kind: str) -> int:
    found = (_NAMED.fullmatch(each.event.node_id) for each in everything)
    return max(int(each[2]) for each in found if each is not None and each[1] == kind)


def _write(
    tx: Transaction, everything: Sequence[Recorded], more: dict[str, int], later: float
) -> None:
    for event, payload, calls in everything:
        tx.now = iso(seconds(event.timestamp) + later)
        tx.metadata = _copy(event.metadata, more)
        data, node = _copy(event.data, more), _renamed(event.node_id, more)
        if event.type == "task_created":
            tx.next_task_id()
        elif event.type == "run_started":
            tx.next_run()
        if event.type in RUN_EVENTS:
            data.pop("checksum")
            written = journal.write(tx, event.type, node, data)
        else:
            written = tx.append(event.type, node, data)
        if payload is not None:
            tx.calls.freeze(written.seq, payload)
        for each in calls:
            began = iso(seconds(each.started_at) + later) if each.started_at else None
            row = msgspec.structs.replace(each, id=0, event_seq=written.seq, started_at=began)
            tx.calls.add(row)


def _copy(data: dict[str, Any], more: dict[str, int]) -> dict[str, Any]:
    text = _renamed(msgspec.json.encode(data).decode(), more)
    text = _TURN.sub(rf'\1-{more["T"]}"', text)
    found: dict[str, Any] = msgspec.json.decode(text)
    found.pop("cause", None)
    return found


def _renamed(text: str, more: dict[str, int]) -> str:
    return _NAMED.sub(lambda name: f"{name[1]}-{int(name[2]) + more[name[1]]}", text)
