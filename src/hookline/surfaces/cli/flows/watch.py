"""Advancing runs while someone watches: a heartbeat, hooks called meanwhile, ^C parks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.runs.model import ERROR
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON
from hookline.flows import control
from hookline.flows.engine import Done, Parked
from hookline.flows.one_effect import ask_for_effects, check, run_effect
from hookline.flows.runner import FlowRunner
from hookline.operations.announcements import at_work
from hookline.operations.inside_runs import refuse_inside
from hookline.surfaces.cli.flows.progress import RunProgress
from hookline.surfaces.cli.flows.show import effect_json, effect_line, tell
from hookline.surfaces.cli.live.watch import store_watch
from hookline.surfaces.cli.opening import deliver, resumed_by, tell_failure, writing
from hookline.surfaces.cli.output import note, report, say_json
from hookline.surfaces.cli.stopping import Stopped, run_to_end
from hookline.wiring.calling.calls import owner_of
from hookline.wiring.running.engine import engine

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.runs.model import JournalEffect, Resolution


def foreground(args: Namespace, app: App, run_id: str, max_iterations: int | None = None) -> int:
    """Advance a run while someone watches; ^C parks it."""
    refuse_inside(app, run_id)
    again = f"hookline orchestrate {run_id}"
    progress = RunProgress(app, run_id)
    try:
        with resumed_by(again), store_watch(app, progress, quiet=args.json) as watch:
            runner = FlowRunner(engine(app, progress.observe))
            result = run_to_end(_watched(app, runner, run_id, max_iterations, watch.say))
    except Stopped as told:
        park(app, run_id, told)
        note(f"{run_id} is parked; resume it with `{again}`")
        return INTERRUPTED
    deliver(app)
    tell(args, app, run_id)
    return exit_code(result)


def park(app: App, run_id: str, told: Stopped) -> None:
    """Leave a run to whoever continues it; why it rests says what ended its command."""
    app.change(control.park, owner_of(app), run_id, str(told))


async def _watched(
    app: App,
    runner: FlowRunner,
    run_id: str,
    max_iterations: int | None,
    say: Callable[[str], None],
) -> Done | Parked:
    async with at_work(app, partial(tell_failure, say=say), say):
        return await runner.run_one(run_id, max_iterations=max_iterations)


def exit_code(result: Done | Parked) -> int:
    """How a command ends that advanced a run."""
    if isinstance(result, Done):
        return 0 if result.status == runs.COMPLETED else FAILED
    if result.at_limit:
        return LIMIT
    return NEEDS_PERSON if result.needs_person else 0


# One effect


def carry_out(args: Namespace) -> int:
    """Have an effect carried out, and print it with its result."""
    with writing() as app:
        with app.read() as view:
            run = view.runs.find(args.run)
        try:
            done = run_to_end(_carry_out(app, run.run_id, args.effect))
        except Stopped as told:
            park(app, run.run_id, told)
            note(f"{args.effect} has no result; {run.run_id} is parked")
            return INTERRUPTED
        with app.read() as view:
            effect = view.runs.effect(run, args.effect)
        _tell_effect(args, effect, done)
    return FAILED if done is not None and done.status == ERROR else 0


async def _carry_out(app: App, run_id: str, effect_id: str) -> Resolution | None:
    made = engine(app)
    check(made, run_id, effect_id)
    async with at_work(app):
        return await run_effect(made, run_id, effect_id)


def _tell_effect(args: Namespace, effect: JournalEffect, done: Resolution | None) -> None:
    if args.json:
        shown = effect_json(effect)
        say_json(shown if done is None else {**shown, "value": done.value})
        return
    report(effect_line(effect))
    value = done.value if done is not None else None
    if isinstance(value, dict):
        for stream in ("stdout", "stderr"):
            if text := str(value.get(stream) or "").rstrip("\n"):
                (report if stream == "stdout" else note)(text)


async def first_effects(app: App, run_id: str) -> None:
    """Record what a new run asks for first; another process carries it out."""
    async with at_work(app):
        await ask_for_effects(engine(app), run_id)
