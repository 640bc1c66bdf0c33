"""`hookline flow cancel|pause|stop|signal|resume|rerun`: runs, steered by hand."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import BadInput
from hookline.flows import control
from hookline.flows.called_runs import all_open_called
from hookline.flows.outcomes import CONTROLS
from hookline.operations import runs as operations
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.flows.show import tell
from hookline.surfaces.cli.flows.watch import foreground
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, next_step, note, untrusted
from hookline.surfaces.cli.values import parse_json
from hookline.wiring.running.flows import flow_finder, remember_typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.ports.store import Transaction

# How long a living process is given to take a signal; it does so between two steps of the flow.
PATIENCE = 10.0


OWN = "hookline."
LONGEST_NAME = 200
MOST_BYTES = 64 * 1024


def _reason_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("--reason", metavar="R", help="why")


def _control(name: str, args: Namespace) -> None:
    with writing() as app:
        run = operations.steered(app, args.run)
        if not operations.control_run(app, run.run_id, name, args.reason):
            _await_holder(app, run.run_id)
        tell(args, app, run.run_id)


def _await_holder(app: App, run_id: str) -> None:
    """Wait until what advances the run, and those that it called, has taken the signal."""
    deadline = time.monotonic() + PATIENCE
    with app.feeds.waker() as waker:
        while time.monotonic() < deadline:
            with app.read() as view:
                runs_told = [view.runs.find(run_id), *all_open_called(view, run_id)]
                told = [name for run in runs_told for _, name, _ in view.runs.signals(run)]
            if CONTROLS.keys().isdisjoint(told):
                return
            waker.wait(0.2)
    note(f"the process that advances {run_id} has not reacted yet; it will")


def _signal_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("name", help="the signal's name")
    p.add_argument("--value", default="null", metavar="JSON", help="data to send with it")


def _signal(args: Namespace) -> None:
    value = parse_json(args.value, "--value")
    with writing() as app:
        app.change(control.send, operations.steered(app, args.run).run_id, args.name, value)
        with app.read() as view:
            run = view.runs.find(args.run)
        sent = {"runId": run.run_id, "signal": args.name, "status": run.status}
        if answer(args, sent, f"{untrusted(args.name)} was sent to {run.run_id}"):
            next_step(f"hookline orchestrate {run.run_id}")


def _resume(args: Namespace) -> int:
    with writing() as app:
        run = operations.steered(app, args.run)
        operations.resume(app, run)
        return foreground(args, app, run.run_id)


def _rerun_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    help = "the first step to run again"
    p.add_argument("--from", dest="step", required=True, metavar="STEP", help=help)
    p.add_argument(
        "--detach", action="store_true", help="do not advance it; `orchestrate` or `work` will"
    )


def _rerun(args: Namespace) -> int:
    with writing() as app:
        run = operations.steered(app, args.run)
        with app.read() as view:
            origin = control.trace_back(view, run, args.step)
        flow = flow_finder(app).find_of(origin.run)

        def begin(tx: Transaction) -> str:
            run_id = control.rerun(tx, origin, app.blobs, flow.digest, flow.pins)
            remember_typed(app, run_id, origin.run.flow)
            return run_id

        run_id = app.change(begin)
        if args.detach:
            tell(args, app, run_id)
            return 0
        return foreground(args, app, run_id)


def _value_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("name", help="the name of the value")
    p.add_argument("value", nargs="?", metavar="JSON", help="the new value; null removes it")


def _value(args: Namespace) -> None:
    if not 0 < len(args.name) <= LONGEST_NAME or args.name.startswith(OWN):
        raise BadInput(
            f"{args.name[:80]!r} is not a valid name for a value",
            help="names that start with `hookline.` are reserved",
        )
    if args.value is None:
        with reading() as app, app.read() as view:
            found = view.runs.value(view.runs.find(args.run).run_id, args.name)
    else:
        found = parse_json(args.value, "the value")
        if len(args.value) > MOST_BYTES:
            raise BadInput(
                "a value can have at most 64 KiB",
                help="write larger values to a file in $HOOKLINE_RUN_DIR",
            )
        with writing() as app:
            app.change(
                lambda tx: tx.runs.set_value(tx.runs.find(args.run).run_id, args.name, found)
            )
    answer(args, found, untrusted(msgspec.json.encode(found).decode()))


CONTROL_COMMANDS = {
    "resume": Command("resume a parked or paused run", run_argument, _resume),
    **{
        name: Command(summary, _reason_arguments, partial(_control, name))
        for name, summary in (
            ("pause", "pause a run until it is resumed"),
            ("stop", "park a run until something wakes it"),
            ("cancel", "cancel a run and everything it started"),
        )
    },
    "signal": Command("send a signal to a run", _signal_arguments, _signal),
    "rerun": Command("start a new run from a step of an old one", _rerun_arguments, _rerun),
    "value": Command("get or set a value that a run's hooks keep", _value_arguments, _value),
}
