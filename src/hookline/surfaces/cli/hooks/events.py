"""`hookline events` and `hookline emit`: the log, read, followed and written to."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from hookline.domain.events import RESERVED, SYSTEM_NODE
from hookline.domain.text.display import json_line
from hookline.domain.text.numbers import is_number
from hookline.domain.timestamps import parse as parse_moment
from hookline.errors import did_you_mean
from hookline.points import POINTS
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, say_bytes, say_json, untrusted, warn
from hookline.surfaces.cli.tasks.show import event_line
from hookline.surfaces.cli.values import parse_object, read_text
from hookline.wiring.project.stores import is_kept

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.ports.store import Log

DEFAULT_COUNT, AT_ONCE = 50, 1000
# So alike two words are if one may be the other, misspelt, and both could be meant.
MISSPELT = 0.85


def _events_arguments(p: ArgumentParser) -> None:
    p.add_argument("--follow", "-f", action="store_true", help="keep printing new events")
    p.add_argument("--type", action="append", default=[], metavar="T", help="repeatable")
    p.add_argument("--task", metavar="ID", help="only events of this task")
    p.add_argument("--since", metavar="WHEN", help="only events after this number or time")
    lines = "a JSON object per line, of all events that are not filtered out: to export the log"
    p.add_argument("--lines", action="store_true", help=lines)
    p.add_argument(
        "--all", action="store_true", help=f"all events, not only the last {DEFAULT_COUNT}"
    )


def _events(args: Namespace) -> None:
    args.json = args.json or args.lines
    with reading() as app:
        with app.read() as view:
            node = view.graph.task(args.task).id if args.task else None
            if args.lines and not args.follow:
                _export(_chosen(args, view.log, node))
                return
            found, last = _select(args, view.log, node), view.log.last()
        if args.json and not args.follow:
            say_json(found)
        seen = {event.type for event in found}
        _warn_of_types(app, [each for each in args.type if each not in seen])
        if args.follow or not args.json:
            _print(args, found)
        if args.follow:
            sys.stdout.flush()
            _follow(args, app, node, last)


def _select(args: Namespace, log: Log, node: str | None) -> list[Event]:
    if not (args.since or args.type or node or args.all or args.lines):
        return log.tail(0 if args.follow else DEFAULT_COUNT)
    return list(_chosen(args, log, node))


def _chosen(args: Namespace, log: Log, node: str | None) -> Iterator[Event]:
    """The events that are not filtered out, read as they are asked for."""
    place = "0" if args.since is None else args.since
    after, since = (int(place), "") if is_number(place) else (0, parse_moment(place))
    found = log.stream(after=after, types=args.type, node_id=node)
    return (event for event in found if event.timestamp >= since)


def _export(events: Iterator[Event]) -> None:
    """A line for each event, some at a time: a log can be larger than memory."""
    while lines := [json_line(event) for event in islice(events, AT_ONCE)]:
        say_bytes("".join(f"{line}\n" for line in lines).encode())


def _follow(args: Namespace, app: App, node: str | None, last: int) -> None:
    with app.feeds.waker() as waker:
        while not _has_any(app):  # nothing was ever written
            waker.wait()
    with reading() as opened, opened.feeds.waker() as waker:
        while True:
            with opened.read() as view:
                events = view.log.events(after=last, types=args.type, node_id=node)
                last = view.log.last()
            _print(args, events)
            sys.stdout.flush()
            waker.wait()


def _has_any(app: App) -> bool:
    if is_kept(app.store):
        return True
    with reading() as opened:
        return is_kept(opened.store)


def _print(args: Namespace, events: Iterable[Event]) -> None:
    for event in events:
        answer(args, event, event_line(event))


def _emit_arguments(p: ArgumentParser) -> None:
    p.add_argument("type", help="the event's type, such as deploy_done")
    p.add_argument("--data", default="{}", metavar="JSON", help="a JSON object; `-` reads stdin")
    p.add_argument("--task", default=SYSTEM_NODE, metavar="ID", help="the task it is about")


def _emit(args: Namespace) -> None:
    text = read_text("-") if args.data == "-" else args.data
    data = parse_object(text, "--data", help="""write --data '{"key": "value"}'""")
    with writing() as app:
        event = app.emit(args.type, data, node=args.task)
        _warn_of_types(app, [args.type])
        _print(args, [event])


def _warn_of_types(app: App, names: Iterable[str]) -> None:
    """Name the event type that is nearest to one that nobody has declared: it may be misspelt."""
    known = {*RESERVED, *POINTS, *(point for hook in app.registry.list() for point in hook.points)}
    known |= set(app.settings.events if app.settings is not None else ())
    for name in names:
        near = "" if name in known else did_you_mean(name, known, likeness=MISSPELT)
        if near:
            warn(f"unknown event type '{untrusted(name, 100)}'; {near}")


COMMANDS = {
    "events": Command("read the event log; --follow waits for more", _events_arguments, _events),
    "emit": Command("add your own event to the log", _emit_arguments, _emit),
}
