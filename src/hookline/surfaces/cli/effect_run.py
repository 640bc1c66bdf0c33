"""`hookline effect run`: one effect is carried out, by whoever advances the run or else here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs import ERROR
from hookline.errors import FAILED, INTERRUPTED
from hookline.flows.single import check, run_effect
from hookline.outside import engine
from hookline.surfaces.cli.flow_show import effect_json, effect_line
from hookline.surfaces.cli.flow_watch import at_work, park
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import note, report, say_json
from hookline.surfaces.cli.stopping import Stopped, run_to_end

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.domain.runs import JournalEffect, Resolution


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
        _tell(args, effect, done)
    return FAILED if done is not None and done.status == ERROR else 0


async def _carry_out(app: App, run_id: str, effect_id: str) -> Resolution | None:
    made = engine(app)
    check(made, run_id, effect_id)
    async with at_work(app):
        return await run_effect(made, run_id, effect_id)


def _tell(args: Namespace, effect: JournalEffect, done: Resolution | None) -> None:
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
