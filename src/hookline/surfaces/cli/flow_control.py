"""`hookline flow cancel|pause|stop|signal|resume|rerun`: runs, steered by hand."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookline.adapters.blobs import FileBlobs
from hookline.adapters.bus import Waker
from hookline.domain import runs
from hookline.domain.runs import TERMINAL
from hookline.errors import IllegalTransition
from hookline.flows import control, journal
from hookline.flows.judged_work import JUDGING_FLOWS
from hookline.outside import flow_finder, remember_typed, renew_typed
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.flow_show import tell
from hookline.surfaces.cli.flow_watch import foreground
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, note, say, say_json, untrusted
from hookline.surfaces.cli.values import parse_json
from hookline.trust import refuse_agents
from hookline.wiring.calls import owner_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.ports.store import Transaction

# How long a living process is given to take a signal; it does so between two steps of the flow.
PATIENCE = 10.0


def _reason_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("--reason", metavar="R", help="why")


def _steered(app: App, identifier: str) -> Run:
    """The run that a command steers; an agent may not steer what judges its work."""
    with app.read() as view:
        run = view.runs.find(identifier)
    if run.flow in JUDGING_FLOWS:
        refuse_agents(os.environ, f"flow control of a {run.flow}")
    return run


def _control(args: Namespace, name: str) -> None:
    with writing() as app:
        run = _steered(app, args.run)
        reason = args.reason or f"{_PAST[name]} by hand"
        if not app.change(control.control, owner_of(app), run.run_id, name, reason):
            _await_holder(app, run.run_id)
        tell(args, app, run.run_id)


_PAST = {"cancel": "cancelled", "pause": "paused", "stop": "stopped"}


def _await_holder(app: App, run_id: str) -> None:
    """Wait until the process that advances the run has taken the signal."""
    deadline = time.monotonic() + PATIENCE
    with Waker(app.project.folder) as waker:
        while time.monotonic() < deadline:
            with app.read() as view:
                open_signals = view.runs.signals(view.runs.find(run_id))
            if not any(name in control.CONTROLS for _, name, _ in open_signals):
                return
            waker.wait(0.2)
    note(f"the process that advances {run_id} has not taken it yet; it will")


def _cancel(args: Namespace) -> None:
    _control(args, "cancel")


def _pause(args: Namespace) -> None:
    _control(args, "pause")


def _stop(args: Namespace) -> None:
    _control(args, "stop")


def _signal_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("name", help="the signal's name")
    p.add_argument("--value", default="null", metavar="JSON", help="what is sent with it")


def _signal(args: Namespace) -> None:
    value = parse_json(args.value, "--value")
    with writing() as app:
        app.change(control.send, _steered(app, args.run).run_id, args.name, value)
        with app.read() as view:
            run = view.runs.find(args.run)
        if args.json:
            say_json({"runId": run.run_id, "signal": args.name, "status": run.status})
            return
        say(f"{untrusted(args.name)} was sent to {run.run_id}")
        next_step(f"hookline orchestrate {run.run_id}")


def _resume(args: Namespace) -> int:
    with writing() as app:
        run = _steered(app, args.run)
        if run.status in TERMINAL:
            raise IllegalTransition(
                f"{run.run_id} is {run.status}",
                help=f"`hookline flow rerun {run.run_id} --from STEP` begins it again",
            )
        renew_typed(app, run)
        if run.status == runs.PAUSED:
            app.change(lambda tx: journal.write(tx, "run_resumed", run.run_id, {}))
        return foreground(args, app, run.run_id)


def _rerun_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument(
        "--from", dest="step", required=True, metavar="STEP", help="the first step to do again"
    )
    p.add_argument("--detach", action="store_true", help="leave it to `orchestrate` or `work`")


def _rerun(args: Namespace) -> int:
    with writing() as app:
        run = _steered(app, args.run)
        with app.read() as view:
            origin = control.trace_back(view, run, args.step)
        flow = flow_finder(app).find_of(origin.run)
        blobs = FileBlobs(app.project.blobs)

        def begin(tx: Transaction) -> str:
            run_id = control.rerun(tx, origin, blobs, flow.digest, flow.pins)
            remember_typed(app, run_id, origin.run.flow)
            return run_id

        run_id = app.change(begin)
        if args.detach:
            tell(args, app, run_id)
            return 0
        return foreground(args, app, run_id)


CONTROL_COMMANDS = {
    "resume": Command("go on with a run that is parked or paused", run_argument, _resume),
    "pause": Command("let a run rest until it is resumed", _reason_arguments, _pause),
    "stop": Command("park a run; what happens to it wakes it again", _reason_arguments, _stop),
    "cancel": Command("end a run and what it started", _reason_arguments, _cancel),
    "signal": Command("send a signal that a flow waits for", _signal_arguments, _signal),
    "rerun": Command("a new run that begins at a step of an old one", _rerun_arguments, _rerun),
}
