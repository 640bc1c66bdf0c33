"""A command hook: the whole call, and the bare start of its process."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from benchmarks.floors import run_and_wait
from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import new_project
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.events import Event
from hookline.hooks.frames import Frame, event_payload
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.wiring.calling.calls import caller

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

AIM = 1.3
FLOOR = "Popen, capture, wait"
LINE = "echo done"
ARGV = ("/bin/sh", "-c", LINE)


def measure(plan: Plan) -> Iterator[Result]:
    """One command hook at one event."""
    app = new_project(os.path.join(plan.folder, "programs"))
    root, env = app.project.root, dict(app.environ)
    processes = LocalProcesses(app.project.blobs)
    rounds = plan.rounds(400, 60)
    with asyncio.Runner() as runner:

        def run(coroutine: Coroutine[Any, Any, Any]) -> None:
            runner.run(coroutine)

        hook, frame, calls = *_call(), caller(app)
        whole, bare, floor = by_turns(
            (
                lambda: run(calls.call(hook, frame)),
                lambda: run(processes.run(ARGV, cwd=root, env=env, timeout=30)),
                lambda: run_and_wait(ARGV, root, env),
            ),
            rounds,
        )
    app.close()
    yield Result("command hook, the whole call", whole, floor, FLOOR, AIM)
    yield Result("command hook, its process alone", bare, floor, FLOOR, AIM)


def _call() -> tuple[Hook, Frame]:
    hook = Hook(name="say", points=("task_completed",), kind="command", target=LINE)
    event = Event(1, "0-1", "2026-01-17T10:00:00.000Z", "task_completed", "T-1", {}, {})
    payload = event_payload(event, None)
    return hook, Frame("task_completed", RULES["react"], payload, "0-1:1", event, 1)
