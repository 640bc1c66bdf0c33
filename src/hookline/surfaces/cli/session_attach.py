"""`hookline session attach`: watch a session that another process runs. ^C only looks away."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

from hookline.adapters.feed import FeedReader
from hookline.errors import IllegalTransition
from hookline.surfaces.cli.live import FRAME, Live, header
from hookline.surfaces.cli.live_watch import AsJson, AsLines, Watch
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, untrusted
from hookline.surfaces.cli.session_arguments import session_argument, verbose_argument
from hookline.surfaces.cli.session_end import tell_end
from hookline.surfaces.cli.session_facts import (
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
LOOK_AGAIN = 0.5


def attach_arguments(p: ArgumentParser) -> None:
    """What `session attach` takes."""
    session_argument(p)
    p.add_argument("--from-start", action="store_true", help="show what was before as well")
    verbose_argument(p)


def attach(args: Namespace) -> int:
    """Watch a session until it ends."""
    with reading() as app:
        known = _known(app, args.name)
        if not known.is_alive and not args.from_start:
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
                note(f"{name} goes on; `hookline session stop {shlex.quote(name)}` ends it")
            return 0


def _known(app: App, name: str) -> Facts:
    with app.read() as view:
        return facts(view, find(view, name))


def _follow(args: Namespace, app: App, known: Facts) -> int:
    reader, show = _begin(args, app, known)
    watch = Watch(reader, show)
    try:
        while known.is_alive:
            deadline = time.monotonic() + LOOK_AGAIN
            while time.monotonic() < deadline:
                watch.step()
                time.sleep(FRAME)
            known = _known(app, known.run_id)
        watch.step()
    finally:
        show.close()
    with app.read() as view:
        return tell_end(args, known, last_ending(view, known.run_id))


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
