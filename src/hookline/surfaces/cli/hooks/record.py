"""`hookline hook stats` and `hookline hook log`: what the record of calls says as a whole."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import plain_names
from hookline.domain.text.terminal import padded, width
from hookline.files import entry_at
from hookline.hooks.history import metrics
from hookline.queries.pruned import last_prune
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import open_log, reading
from hookline.surfaces.cli.output import answer, note, paint, say, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from hookline.hooks.history.metrics import StopMetrics
    from hookline.ports.feeds import Feeds


# How many calls are shown.
SHOWN = 50


def _stats(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        rows = metrics.statistics(view)
        slow_events = view.calls.slow_events(metrics.SLOW_EVENT_US, metrics.TAKE_TIME)
        deciding = metrics.read_metrics(view, [row.name for row in rows])
    if not answer(args, {"hooks": rows, "slowEvents": slow_events, "stopHooks": deciding}):
        return
    names = plain_names(row.name for row in rows)
    widest = max(map(width, names.values()), default=4)
    say(paint(f"{'hook':{widest}}  calls   ok  skip  fail     p50     p95", "dim"))
    for row in rows:
        slow = paint("  slow", "yellow") if row.slow else ""
        say(
            f"{padded(names[row.name], widest)} {row.calls:>6} {row.ok:>4} {row.skipped:>5}"
            f" {row.failed:>5} {row.p50_ms:>7.1f} {row.p95_ms:>7.1f}{slow}"
        )
    if not rows:
        say("no hook has been called yet")
    if deciding:
        _show_decisions(deciding, names)
    if slow_events:
        bound = metrics.seconds(metrics.SLOW_EVENT_US)
        note(f"at {slow_events} events the hooks took more than {bound} in total")


def _show_decisions(deciding: list[StopMetrics], names: Mapping[str, str]) -> None:
    widest = max(len("stop hook"), *(width(names[each.name]) for each in deciding))
    say()
    head = f"{'stop hook':{widest}}  calls     complete     continue     escalate  undone"
    say(paint(head, "dim"))
    for each in deciding:
        shares = (
            (each.complete, each.complete_percent),
            (each.continued, each.continue_percent),
            (each.escalate, each.escalate_percent),
        )
        told = "".join(f" {count:>6} {percent:>4.0f}%" for count, percent in shares)
        undone = f"{each.undone} of {each.complete}" if each.complete else "-"
        say(f"{padded(names[each.name], widest)} {each.decisions:>6}{told}  {undone}")


def _log_arguments(p: ArgumentParser) -> None:
    p.add_argument("--follow", "-f", action="store_true", help="keep printing new calls")


def _log(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        path, feeds, pruned = app.project.hook_log, app.feeds, last_prune(view)
    lines: list[str] = []
    for each in (path, f"{path}.1"):  # the older one, where the newer has just begun
        if len(lines) < SHOWN and os.path.exists(each):
            with open_log(each) as file:
                lines = [*file.read().splitlines(), *lines][-SHOWN:]
    shown = [*map(untrusted, lines)] or ["no hook has been called yet"]
    told = answer(args, {"path": path, "lines": lines, "pruned": pruned}, *shown)
    if told and pruned is not None:
        note(pruned.told)
    if told and args.follow:
        _follow(path, feeds)


def _follow(path: str, feeds: Feeds) -> None:
    """Print new lines; of a file that made room for another, first what is left of it."""
    sys.stdout.flush()
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    file = open_log(path) if os.path.exists(path) else None
    if file is not None:
        file.seek(0, os.SEEK_END)
    with feeds.waker(folder) as waker:
        while True:
            waker.wait(1.0)
            for line in file or ():
                print(untrusted(line), flush=True)
            found = entry_at(path)
            if found and (file is None or os.fstat(file.fileno()).st_ino != found.st_ino):
                file = open_log(path)


RECORD_COMMANDS = {
    "stats": Command("show how often hooks run, skip and fail, and how long", no_arguments, _stats),
    "log": Command("show the log of calls; --follow waits for more", _log_arguments, _log),
}
