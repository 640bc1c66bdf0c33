"""`hookline session attach`: watch a session that another process runs. ^C only looks away."""

from __future__ import annotations

import shlex
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from hookline.adapters.feed import FeedReader
from hookline.errors import IllegalTransition
from hookline.surfaces.cli.live import FRAME, Live, header
from hookline.surfaces.cli.live_watch import ENDED, AsJson, AsLines
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, say_json, untrusted
from hookline.surfaces.cli.run import EXITS, tell_end, verbose_argument
from hookline.surfaces.cli.session_control import session_argument
from hookline.surfaces.cli.session_facts import (
    AT_WORK,
    WAITING,
    facts,
    find,
    last_ending,
    resume_command,
    spent,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.surfaces.cli.live_watch import Show
    from hookline.surfaces.cli.session_facts import Facts

# How far back the step is looked for that is open now.
LOOKED_BACK = 1 << 20
# How often the store is asked whether the process that is watched still lives.
LOOK_AGAIN = 1.0


def attach_arguments(p: ArgumentParser) -> None:
    """What `session attach` takes."""
    session_argument(p)
    p.add_argument("--from-start", action="store_true", help="show what was before as well")
    verbose_argument(p)


def attach(args: Namespace) -> int:
    """Watch a session until it ends."""
    with reading() as app:
        known = _known(app, args.name)
        if known.status not in AT_WORK | {WAITING} and not args.from_start:
            raise IllegalTransition(
                f"{untrusted(known.name)} is {known.status}: there is nothing to watch",
                help="--from-start shows what was"
                + ("" if known.is_over else f"; `{resume_command(known)}` goes on with it"),
            )
        try:
            return _follow(args, app, known)
        except KeyboardInterrupt:
            name = untrusted(known.name)
            if not args.json:
                note(f"\n{name} goes on; `hookline session stop {shlex.quote(name)}` ends it")
            return 0


def _known(app: App, name: str) -> Facts:
    with app.read() as view:
        return facts(view, find(view, name))


def _follow(args: Namespace, app: App, known: Facts) -> int:
    reader, show = _begin(args, app, known)
    looked = 0.0
    while True:
        # The store is read first: what is told until then is shown before the end is.
        moment = time.monotonic()
        if moment - looked >= LOOK_AGAIN:
            looked, known = moment, _known(app, known.run_id)
        is_live = known.status in AT_WORK or known.status == WAITING
        records = reader.new()
        ended = False
        while batch := list(islice(records, 500)):
            ended = any(record["type"] in (ENDED, "session_paused") for record in batch) or ended
            show.hear(batch)
        if not is_live:
            break
        if ended:  # perhaps; an old feed told so as well
            looked = 0.0
        show.hear([])
        time.sleep(FRAME)
    show.close()
    return _over(args, app, known)


def _begin(args: Namespace, app: App, known: Facts) -> tuple[FeedReader, Show]:
    tail = None if args.from_start else LOOKED_BACK
    reader = FeedReader(app.project.folder, known.run_id, tail=tail)
    if args.json:
        if not args.from_start:
            reader = FeedReader(app.project.folder, known.run_id, tail=0)
        return reader, AsJson()
    live = Live(verbose=args.verbose)
    show = AsLines(live, app.environ)
    if not args.from_start:
        for record in reader.new():  # what is open now, and how far it is
            live.take(record)
        show.show(list(header(known.name, known.run_id, known.goal, known.agent, known.task_id)))
        with app.read() as view:
            live.spent_before = spent(view, known.run_id)
    return reader, show


def _over(args: Namespace, app: App, known: Facts) -> int:
    with app.read() as view:
        ended: dict[str, Any] | None = last_ending(view, known.run_id)
    if known.status in EXITS and ended is not None:
        if args.json:
            say_json({"type": ENDED, "data": ended})
        else:
            tell_end(known, ended)
        return EXITS[known.status]
    if not args.json:
        note(f"{untrusted(known.name)} is {known.status}; go on with `{resume_command(known)}`")
    return 0
