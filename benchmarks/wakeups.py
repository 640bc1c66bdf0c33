"""How soon another process learns of a new event: `python -m benchmarks.wakeups` is that other."""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median, quantiles
from time import monotonic, sleep
from typing import TYPE_CHECKING

from benchmarks.measure import Plan, Result
from benchmarks.stores import environment, new_project
from hookline.adapters.feeds.bus import Waker
from hookline.app import App

if TYPE_CHECKING:
    from collections.abc import Iterator

AIM_SECONDS = 0.05
PAUSE = 0.05
_LAST = "the_last"
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def measure(plan: Plan) -> Iterator[Result]:
    """From the return of the write to the moment the other process holds the event."""
    folder = os.path.join(plan.folder, "wakeups")
    app = new_project(folder)
    app.emit("the_first", {})
    env = {**environment(folder), "PYTHONPATH": _CHECKOUT}
    watcher = subprocess.Popen(
        (sys.executable, "-m", "benchmarks.wakeups"),
        cwd=app.project.root,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watcher.stdout is not None
    with watcher:
        watcher.stdout.readline()
        sent = _send(app, plan.rounds(200, 30))
        seen = {int(seq): float(at) for seq, at in map(str.split, watcher.stdout)}
    app.close()
    # The other may well hold an event before the writer's own call has returned.
    delays = [max(0.0, seen[seq] - at) for seq, at in sent.items()]
    yield Result("wake another process, p50", median(delays), None, "", AIM_SECONDS)
    p95 = quantiles(delays, n=20)[-1]
    yield Result("wake another process, p95", p95, None, "", AIM_SECONDS)


def _send(app: App, count: int) -> dict[int, float]:
    sent = {}
    for _ in range(count):
        event = app.emit("ping", {})
        sent[event.seq] = monotonic()
        sleep(PAUSE)
    app.emit(_LAST, {})
    sleep(PAUSE)
    # One more write, so that even a watcher that missed the last one comes to an end.
    app.emit(_LAST, {})
    return sent


def watch() -> None:
    """Print each new event's place and when it was seen, until the last one."""
    app = App.open(read_only=True)
    with Waker(app.project.folder) as waker:
        with app.read() as view:
            last = view.log.last()
        print("watching", flush=True)
        ended = False
        while not ended:
            waker.wait()
            with app.read() as view:
                events = view.log.events(after=last)
            now = monotonic()
            for event in events:
                last = event.seq
                ended = event.type == _LAST
                if not ended:
                    print(event.seq, now, flush=True)
    app.close()


if __name__ == "__main__":
    watch()
