"""`hookline run --resume`: a session that was stopped, paused, killed or reached a limit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.domain.sessions.model import STOPPED
from hookline.operations.sessions.resume import go_on, refuse_silence, to_go_on_with
from hookline.surfaces.cli.command import run_of_folder
from hookline.surfaces.cli.opening import refuse_unready, writing
from hookline.surfaces.cli.output import note, untrusted
from hookline.surfaces.cli.sessions.arguments import given_limits
from hookline.surfaces.cli.sessions.detach import detach
from hookline.surfaces.cli.sessions.drive import drive
from hookline.surfaces.cli.sessions.end import tell
from hookline.surfaces.cli.stopping import Stopping
from hookline.wiring.working.profiles import chosen_agent
from hookline.wiring.working.work import begin_work

if TYPE_CHECKING:
    from argparse import Namespace


def resume(args: Namespace) -> int:
    """Continue the session that is named, or the only one that can be."""
    limits = given_limits(args)
    with writing() as app:
        refuse_unready(args, app)
        known = to_go_on_with(app, args.name and run_of_folder(args.name), limits)
        chosen_agent(app, known.agent, limits.get("usd"))
        reader = app.feeds.reader(known.run_id, tail=0)  # what is told from now on
        if args.detach:
            return detach(args, app, known.run_id, limits)
        if not args.json:
            note(f"resuming {untrusted(known.name)} ({known.run_id}): {untrusted(known.goal)}")
        if known.branch is not None and (known.status == STOPPED or known.problem is not None):
            asyncio.run(begin_work(app, known.task_id))
        with Stopping() as signals:
            place = go_on(app, known, limits)
            known = drive(args, app, known.run_id, reader, signals)
            with app.read() as view:
                refuse_silence(view, known, place)
            return tell(args, app, known)
