"""`hookline hook stats` and `hookline hook log`: what the record of calls says as a whole."""

from __future__ import annotations

import os
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from hookline.errors import BadInput
from hookline.files import open_regular
from hookline.hooks.stop_metrics import read_metrics
from hookline.points import POINTS, REACT
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, paint, say, say_json, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import TextIO

    from hookline.adapters.store.sqlite import View
    from hookline.hooks.stop_metrics import StopMetrics

# A command waits for the hooks of its events; what gates and sessions wait for takes its time.
SLOW_HOOK_US = 1_000_000
SLOW_EVENT_US = 2_000_000
TAKE_TIME = tuple(point.name for point in POINTS.values() if point.rule != REACT)
COUNTED = ("ok", "skipped", "failed", "pending", "cut")


def _stats(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        rows = statistics(view)
        slow_events = view.calls.slow_events(SLOW_EVENT_US, TAKE_TIME)
        deciding = read_metrics(view, [row["name"] for row in rows])
    if args.json:
        say_json({"hooks": rows, "slowEvents": slow_events, "stopHooks": deciding})
        return
    width = max((len(untrusted(row["name"])) for row in rows), default=4)
    say(paint(f"{'hook':{width}}  calls   ok  skip  fail     p50     p95", "dim"))
    for row in rows:
        slow = paint("  slow", "yellow") if row["slow"] else ""
        say(
            f"{untrusted(row['name']):{width}} {row['calls']:>6} {row['ok']:>4} {row['skipped']:>5}"
            f" {row['failed']:>5} {row['p50Ms']:>7.1f} {row['p95Ms']:>7.1f}{slow}"
        )
    if not rows:
        say("no hook was called yet")
    if deciding:
        _show_decisions(deciding)
    if slow_events:
        note(f"at {slow_events} events the hooks took more than {seconds(SLOW_EVENT_US)} in all")


def _show_decisions(deciding: list[StopMetrics]) -> None:
    width = max(len("stop hook"), *(len(untrusted(each.name)) for each in deciding))
    say()
    head = f"{'stop hook':{width}}  calls     complete     continue     escalate  undone"
    say(paint(head, "dim"))
    for each in deciding:
        shares = (
            (each.complete, each.complete_percent),
            (each.go_on, each.continue_percent),
            (each.escalate, each.escalate_percent),
        )
        told = "".join(f" {count:>6} {percent:>4.0f}%" for count, percent in shares)
        undone = f"{each.undone} of {each.complete}" if each.complete else "-"
        say(f"{untrusted(each.name):{width}} {each.decisions:>6}{told}  {undone}")


def statistics(view: View) -> list[dict[str, Any]]:
    """How often each hook ran, was skipped and failed, and how long it took."""
    found: dict[str, dict[str, Any]] = {}
    durations: dict[str, list[int]] = {}
    for name, status, count, took in view.calls.statistics():
        row = found.setdefault(name, {"name": name, "calls": 0, **dict.fromkeys(COUNTED, 0)})
        row["calls"] += count
        row[status if status in COUNTED else "failed"] += count
        if status not in ("skipped", "cut"):
            durations.setdefault(name, []).extend(took)
    for name, row in found.items():
        p50, p95 = _percentiles(durations.get(name, []))
        slow = p95 > SLOW_HOOK_US and view.calls.calls_of(name, 1)[0].point not in TAKE_TIME
        row |= {"p50Ms": p50 / 1000, "p95Ms": p95 / 1000, "slow": slow}
    return [found[name] for name in sorted(found)]


def seconds(microseconds: int) -> str:
    """A bound as people read it."""
    return f"{microseconds / 1_000_000:g} s"


def _percentiles(values: list[int]) -> tuple[float, float]:
    if len(values) < 2:
        only = float(values[0]) if values else 0.0
        return only, only
    cuts = quantiles(values, n=20, method="inclusive")
    return cuts[9], cuts[18]


def _log_arguments(p: ArgumentParser) -> None:
    p.add_argument("--follow", "-f", action="store_true", help="go on with new calls")


def _log(args: Namespace) -> None:
    with reading() as app:
        path = app.project.hook_log
    lines: list[str] = []
    if os.path.exists(path):
        with _opened(path) as file:
            lines = file.read().splitlines()[-50:]
    if args.json:
        say_json({"path": path, "lines": lines})
        return
    for line in lines:
        say(untrusted(line))
    if args.follow:
        _follow(path)


def _opened(path: str) -> TextIO:
    try:
        return open(open_regular(path), encoding="utf-8", errors="replace")
    except OSError as problem:
        raise BadInput(f"{path} cannot be read: {problem.strerror}") from problem


def _follow(path: str) -> None:
    from hookline.adapters.bus import Waker

    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    position = os.path.getsize(path) if os.path.exists(path) else 0
    with Waker(folder) as waker:
        while True:
            waker.wait(1.0)
            if not os.path.exists(path):
                continue
            if os.path.getsize(path) < position:
                position = 0
            with _opened(path) as file:
                file.seek(position)
                for line in file:
                    print(untrusted(line), flush=True)
                position = file.tell()


RECORD_COMMANDS = {
    "stats": Command("how often hooks run, skip, fail, and how long", no_arguments, _stats),
    "log": Command("the log of calls; --follow goes on", _log_arguments, _log),
}
