"""`hookline session attach` and `logs`: watch a session that another process runs, or see what one
did. ^C only looks away.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from hookline.domain.sessions.model import LIMIT, WORKER, UnknownSession
from hookline.errors import IllegalTransition
from hookline.queries.pruned import GONE, pruned_at
from hookline.queries.session_details import endings, spent
from hookline.queries.sessions import facts, known_session, last_ending, resume_command
from hookline.surfaces.cli.background import show_worker_log
from hookline.surfaces.cli.live.screen import a_few
from hookline.surfaces.cli.live.view import Live, header
from hookline.surfaces.cli.live.watch import (
    AsRecords,
    OnScreen,
    Watch,
    is_for_watchers,
    rung_by_others,
)
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, untrusted
from hookline.surfaces.cli.sessions.arguments import session_argument, verbose_argument
from hookline.surfaces.cli.sessions.end import tell_end
from hookline.wiring.running.hosts import workers

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.ports.feeds import FeedReader, FeedRecord
    from hookline.queries.sessions import SessionFacts
    from hookline.surfaces.cli.live.watch import Show

# How far back the step is looked for that is open now.
LOOKED_BACK = 1 << 20
# How often the store is asked whether the process that is watched still lives.
LOOK_AGAIN = 0.5


def attach_arguments(p: ArgumentParser) -> None:
    """What `session attach` takes."""
    session_argument(p, obvious=f"the one at work; `{WORKER}` means the worker")
    p.add_argument("--from-start", action="store_true", help="start at the session's beginning")
    verbose_argument(p)


def attach(args: Namespace) -> int:
    """Watch a session until it ends."""
    with reading() as app:
        if args.name == WORKER:
            return _attach_to_worker(args, app)
        with app.read() as view:
            known = known_session(view, args.name, "watch")
        if not known.is_alive and not args.from_start:
            stands = "has reached a limit" if known.status == LIMIT else f"is {known.status}"
            raise IllegalTransition(
                f"{untrusted(known.name)} {stands}: there is nothing to watch",
                help="--from-start shows what it did"
                + ("" if known.is_over else f"; `{resume_command(known)}` resumes it"),
            )
        try:
            return _follow(args, app, known)
        except KeyboardInterrupt:
            name = untrusted(known.name)
            if not args.json:
                note(f"{name} continues; `hookline session stop {shlex.quote(name)}` ends it")
            return 0


def _attach_to_worker(args: Namespace, app: App) -> int:
    """Watch what the worker in the background says, until it ends."""
    if not workers(app.project.folder):
        help = (
            "`hookline work --detach` starts one; `hookline logs work` shows what the last one said"
        )
        raise UnknownSession("no worker is running", help=help)
    try:
        return show_worker_log(args, app, follow=True)
    except KeyboardInterrupt:
        if not args.json:
            note(f"the worker continues; `hookline stop {WORKER}` ends it")
        return 0


def _follow(args: Namespace, app: App, known: SessionFacts) -> int:
    reader, show = _begin(args, app, known)
    with Watch(reader, show) as watch:
        while known.is_alive:
            watch.show_for(LOOK_AGAIN)
            with app.read() as view:
                known = facts(view, view.runs.find(known.run_id))
    with app.read() as view:
        if pruned := pruned_at(view, known.run_id):
            note(f"{GONE} were pruned on {pruned}")
        return tell_end(args, known, last_ending(view, known.run_id))


def _begin(args: Namespace, app: App, known: SessionFacts) -> tuple[FeedReader, Show[FeedRecord]]:
    tail = None if args.from_start else 0 if args.json else LOOKED_BACK
    reader = app.feeds.reader(known.run_id, tail=tail)
    if args.json:
        return reader, AsRecords(is_for_watchers)
    live = Live(verbose=args.verbose)
    if args.from_start:
        return reader, OnScreen(live, app.environ, a_few)
    for record in reader.new():  # what is open now, and how far it is
        live.take(record)
    with app.read() as view:
        live.spent_before = spent(endings(view, known.run_id))
    begun = list(header(known.name, known.run_id, known.goal, known.agent, known.task_id))
    rings = rung_by_others(app.owner)
    return reader, OnScreen(live, app.environ, a_few, first=begun, rings=rings)


# What a session did


def logs_arguments(p: ArgumentParser) -> None:
    """What `session logs` takes."""
    session_argument(p, obvious=f"the one at work, else the newest; `{WORKER}` means the worker")
    p.add_argument("-f", "--follow", action="store_true", help="continue until the session ends")
    verbose_argument(p)


def logs(args: Namespace) -> int:
    """Show what a session did, from its beginning."""
    with reading() as app:
        if args.name == WORKER:
            return show_worker_log(args, app, follow=args.follow)
        with app.read() as view:
            known = known_session(view, args.name, "show")
    if args.follow and known.is_alive:
        args.from_start = True
        return attach(args)
    with reading() as app:
        show: Show[FeedRecord] = AsRecords(is_for_watchers)
        if not args.json:
            live = Live(verbose=args.verbose)
            show = OnScreen(live, app.environ, a_few, stream=sys.stdout)
        show.hear(app.feeds.reader(known.run_id).new())
        show.close()
        if not known.is_alive:
            with app.read() as view:
                tell_end(args, known, last_ending(view, known.run_id))
    return 0
