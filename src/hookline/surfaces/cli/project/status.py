"""`hookline status`, which a bare `hookline` says too: the project's status on one screen."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.text.excerpts import first_few
from hookline.domain.text.terminal import padded, plural, size, took, width
from hookline.domain.timestamps import evening_before, moment_text, seconds
from hookline.project import user_folder
from hookline.queries.status import status
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.live.lines import money
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import (
    answer,
    columns,
    is_terminal,
    paint,
    say,
    say_command,
    untrusted,
    wrapped,
)
from hookline.trust.people import under_agent
from hookline.wiring.project.looks import last_look, remember_look

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hookline.queries.session_details import UsedLimit
    from hookline.queries.status import AtWork, FinishedItem, Status
    from hookline.queries.waiting.item import Item

LOOK = "status"
STOPPED = "stopped"
# Merged tasks and items that are named; the rest is counted.
MOST_NAMED, MOST_ITEMS = 8, 20
STYLES = {"running": "yellow", "waiting": "red", "parked": "cyan", "merged": "green"}
STYLES |= dict.fromkeys(("UNTESTED", "UNPROVEN"), "red")
# How what is finished is told, and what is said instead if nothing has tested it.
_ENDED = {"merged": "merged", "done": "completed"}
_LOUD = {"merged": "UNTESTED", "done": "UNPROVEN"}
NARROW = 60


class _StatusLine(NamedTuple):
    kind: str
    name: str
    told: str
    command: str = ""


def _status(args: Namespace) -> int:
    with reading() as app:
        now, home = app.store.now(), user_folder(app.environ)
        since = last_look(home, app.store.id, LOOK) or evening_before(now)
        found = status(app, since)
        if answer(args, found):
            show(found, now)
            if is_terminal(sys.stdout) and not under_agent(app.environ):
                remember_look(home, app.store.id, LOOK, now)
    return 0


def show(found: Status, now: str) -> None:
    """Print the status of a project, a line for each thing, each with its command."""
    lines = [
        *(_at_work("running", each) for each in found.running),
        *(_at_work("parked", each) for each in found.parked),
        *(_at_work(STOPPED, each) for each in found.resting),
        *(_waits(each, now) for each in found.waiting[:MOST_ITEMS]),
        *_finished("merged", found.merged, now),
        *_finished("done", found.completed, now),
    ]
    if not lines:
        say("nothing runs and nothing waits")
    names = max((width(line.name) for line in lines if width(line.name) <= 24), default=0)
    for line in lines:
        _print(line, names)
    if len(found.waiting) > MOST_ITEMS:
        say(f"{len(found.waiting) - MOST_ITEMS} more wait: hookline attention")
    held = f"{size(found.store.bytes)}, {plural(found.store.events, 'event')}"
    _print(_StatusLine("store", "", held, ""), 0)
    if not lines:
        say('next: hookline run "what the agent should do"')


def _print(line: _StatusLine, names: int) -> None:
    """A line; its command behind it if there is room, else below."""
    kind = paint(f"{line.kind:8}", STYLES.get(line.kind, "dim"))
    name = f"{paint(padded(line.name, names), 'bold')}  " if line.name else ""
    text, room = f"{kind}  {name}{line.told}", columns() if is_terminal(sys.stdout) else 0
    used = 10 + (max(names, width(line.name)) + 2 if line.name else 0) + width(line.told)
    if not line.command:
        _say(text, room)
    elif room and used + 3 + width(line.command) <= room:
        say(f"{text}{' ' * (room - used - width(line.command))}{paint(line.command, 'dim')}")
    else:
        _say(text, room)
        say_command(" " * 10, line.command, "dim")


def _say(text: str, room: int) -> None:
    for line in wrapped(text, max(room, NARROW), 10).split("\n") if room else [text]:
        say(line)


def _at_work(kind: str, work: AtWork) -> _StatusLine:
    if work.until is not None:
        why = untrusted(work.reason or "it waits", 200)
        then = "then it continues by itself"
        return _StatusLine(
            kind, _name(work), f"{why}, until {moment_text(work.until, work.until)}; {then}"
        )
    parts = [*_limits(work.limits, is_over=kind == STOPPED), *([work.agent] if work.agent else ())]
    if (worked := _worked(kind, work)) is not None:
        parts.insert(1 if work.limits else 0, took(worked))
    if work.kind != "session" and work.pid:
        parts.append(f"process {work.pid}")
    if work.kind == "run" and work.task_id:
        parts.append(work.task_id)
    parts += [work.reason] if work.reason else ()
    return _StatusLine(kind, _name(work), untrusted(" · ".join(parts), 200), work.command)


def _worked(kind: str, work: AtWork) -> float | None:
    """For how many seconds it works; of one that was stopped, until then."""
    if kind == STOPPED:
        return work.minutes * 60 if work.minutes is not None else None
    return time.time() - seconds(work.since) if work.since else None


def _name(work: AtWork) -> str:
    return untrusted(work.name, 40)


def _limits(found: list[UsedLimit], *, is_over: bool) -> Iterator[str]:
    known = {each.name: each for each in found}
    if turns := known.get("iterations"):
        made, most = turns.used, turns.allowed
        yield (
            f"{made:g}/{most:g} iterations"
            if is_over
            else f"iteration {min(made + 1, most):g}/{most:g}"
        )
    if spent := known.get("usd"):
        yield f"{money(spent.used)}/{money(spent.allowed)}"
    for name, unit in (("minutes", "min"), ("tokens", "tokens")):
        if limit := known.get(name):
            used = f"{limit.used:,.0f}/" if limit.used else "at most "
            yield f"{used}{limit.allowed:,.0f} {unit}"


def _waits(item: Item, now: str) -> _StatusLine:
    since = f"since {moment_text(item.since, now)}: " if item.since else ""
    return _StatusLine(
        "waiting", untrusted(item.id, 40), f"{since}{untrusted(item.message)}", item.command
    )


def _finished(kind: str, found: list[FinishedItem], now: str) -> Iterator[_StatusLine]:
    """What is finished and tested, in a line; what is not, each with why."""
    tested = [each for each in found if not each.untested]
    if tested:
        names = first_few([untrusted(each.id, 40) for each in tested], MOST_NAMED)
        the_last = "the last " if len(tested) > 1 else ""
        last = f"{the_last}{_ENDED[kind]} {moment_text(tested[-1].at, now)}"
        yield _StatusLine(kind, names, last, "hookline report")
    for each in found:
        if each.untested:
            why = f"{_ENDED[kind]} {moment_text(each.at, now)}: {untrusted(each.untested, 200)}"
            command = f"hookline report {untrusted(shlex.quote(each.id))}"
            yield _StatusLine(_LOUD[kind], untrusted(each.id, 40), why, command)


COMMANDS = {
    "status": Command("show what runs, what waits and what was done", no_arguments, _status)
}
