"""`hookline work --flows`: serves runs and calls hooks that wait, without an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.text.excerpts import first_few
from hookline.errors import NEEDS_PERSON
from hookline.flows.outcomes import all_for_person
from hookline.flows.serving import RunServer
from hookline.operations.announcements import at_work
from hookline.pipeline.own_flows import OWN_FLOWS
from hookline.surfaces.cli.opening import resumed_by, tell_held
from hookline.surfaces.cli.output import next_step, note, say, say_json, untrusted
from hookline.surfaces.cli.stopping import Stopped, run_to_end
from hookline.surfaces.cli.work.end import SHOWN
from hookline.wiring.running.engine import engine
from hookline.wiring.running.hosts import serving
from hookline.wiring.running.schedulers import refuse_unusable, scheduler
from hookline.worker.admission import Admission

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.config.types import SchedulerSection

MANY_CALLS = 50


def serve_flows(args: Namespace, app: App, settings: SchedulerSection) -> int:
    """Advance every run that is due and call every hook that waits; take no tasks."""
    try:
        with resumed_by("hookline work --flows"):
            served = run_to_end(_serve(args, app, settings))
    except Stopped as told:
        again = "everything continues when a worker runs again"
        raise KeyboardInterrupt(f"{told}; {again}") from None  # no hook is called any more
    with app.read() as view:
        for_person = all_for_person(view, OWN_FLOWS)
    if args.json:
        say_json({"begun": 0, "served": served, "limit": None, "forPerson": for_person})
    else:
        waits = f"; {len(for_person)} waiting for a person ({first_few(for_person, SHOWN)})"
        say(f"nothing is due; {served} advanced{waits if for_person else ''}")
        if for_person:
            next_step("hookline attention")
    return NEEDS_PERSON if for_person else 0


async def _serve(args: Namespace, app: App, settings: SchedulerSection) -> int:
    def observe(what: str, details: dict[str, Any]) -> None:
        if not args.json and what == "effect":
            note(f"{details['runId']}  {untrusted(details['effectId'])}")

    served_by = engine(app, observe)
    admits = served_by.admitting(Admission(app).admits)
    server = RunServer(served_by, scheduler(app, settings, served_by, admits, note), admits)
    await refuse_unusable(app, settings)
    if not args.json and not args.once:
        note("advancing runs; ^C stops, and they continue later")
    if args.once:
        await _deliver_all(args, app)
    async with at_work(app):
        with serving(app):
            served = await server.serve(once=args.once)
    if args.once:
        await _deliver_all(args, app)
        tell_held(app)
    return served


async def _deliver_all(args: Namespace, app: App) -> None:
    """Call every hook that waits, however many there are."""
    with app.read() as view:
        waiting = view.calls.waiting()
    if waiting > MANY_CALLS and not args.json:
        note(f"{waiting:,} waiting calls are made now; ^C stops, and the rest keeps waiting")
    if app.work_waits():
        await app.deliver()
