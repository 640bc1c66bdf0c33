"""`hookline orchestrate`, `work` and `answer`: advance one run, serve all, answer a breakpoint."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookline.domain import runs
from hookline.domain.runs import OK, PENDING, EffectResolved, Resolution, UnknownEffect
from hookline.errors import INTERRUPTED, BadInput, IllegalTransition
from hookline.flows.runner import Runner
from hookline.outside import engine, owner_of
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.effect import post
from hookline.surfaces.cli.flow_show import run_json
from hookline.surfaces.cli.flow_watch import at_work, foreground
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, note, say, say_json, untrusted
from hookline.trust import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from hookline.app import App
    from hookline.domain.runs import JournalEffect, Run


def _orchestrate_arguments(p: ArgumentParser) -> None:
    p.add_argument("run", help="the run, such as R-3")
    p.add_argument("--max-iterations", type=int, metavar="N", help="stop after so many ticks")


def _orchestrate(args: Namespace) -> int:
    if args.max_iterations is not None and args.max_iterations < 1:
        raise BadInput("--max-iterations must be at least 1")
    with writing() as app:
        with app.read() as view:
            run = view.runs.find(args.run)
            holder, _, until = view.runs.holder(run.run_id)
        if run.status == runs.PAUSED:
            raise IllegalTransition(
                f"{run.run_id} is paused",
                help=f"`hookline flow resume {run.run_id}` goes on with it",
            )
        held = holder is not None and not owner_of(app).is_free(holder, until)
        if held and not args.json:
            note(f"another process advances {run.run_id}; this one takes over when that ends")
        return foreground(args, app, run.run_id, args.max_iterations)


# Serving all runs


def _work_arguments(p: ArgumentParser) -> None:
    p.add_argument("--flows", action="store_true", help="serve runs of flows (all there is so far)")
    p.add_argument("--once", action="store_true", help="end when nothing is due")


def _work(args: Namespace) -> int:
    with writing() as app:
        try:
            served = asyncio.run(_serve(app, once=args.once, quiet=args.json))
        except KeyboardInterrupt:
            note("interrupted; runs go on where they were when something serves them again")
            return INTERRUPTED
    if args.json:
        say_json({"served": served})
    else:
        say(f"nothing is due; {served} advanced")
    return 0


async def _serve(app: App, *, once: bool, quiet: bool) -> int:
    def observe(what: str, details: dict[str, Any]) -> None:
        if not quiet and what == "effect":
            note(f"{details['runId']}  {untrusted(details['effectId'])}")

    async with at_work(app):
        if not quiet and not once:
            note("serving runs of flows; ^C ends it")
        return await Runner(engine(app, observe)).serve(once=once)


# Answering


def _answer_arguments(p: ArgumentParser) -> None:
    p.add_argument("run", help="the run, such as R-3")
    p.add_argument("breakpoint", help="the breakpoint: its effect's id, or its step")
    p.add_argument("answer", choices=("yes", "no"), help="your answer")
    p.add_argument("--note", metavar="TEXT", help="what the flow should know besides")


def _answer(args: Namespace) -> None:
    refuse_agents(os.environ, "answer")
    with writing() as app:
        with app.read() as view:
            run = view.runs.find(args.run)
            effect = _breakpoint(run, view.runs.effects(run), args.breakpoint)
        value = {"answer": args.answer == "yes", "note": args.note}
        post(app, run.run_id, effect.effect_id, Resolution(OK, value))
        with app.read() as view:
            run = view.runs.find(run.run_id)
        if args.json:
            say_json({**run_json(run), "effectId": effect.effect_id, **value})
            return
        say(f"{run.run_id}: {untrusted(effect.effect_id)} is answered with {args.answer}")
        next_step(f"hookline orchestrate {run.run_id}", "if nothing serves flows")


def _breakpoint(run: Run, effects: list[JournalEffect], name: str) -> JournalEffect:
    known = [e for e in effects if e.kind == "breakpoint" and name in (e.effect_id, e.step)]
    exact = [e for e in known if e.effect_id == name]
    waiting = [e for e in exact or known if e.status == PENDING]
    if len(waiting) == 1:
        return waiting[0]
    if waiting:
        names = ", ".join(e.effect_id for e in waiting)
        raise BadInput(f"several breakpoints of {run.run_id} are called '{name}': {names}")
    if known:
        raise EffectResolved(f"{run.run_id} has an answer for '{name}' already")
    raise UnknownEffect(
        f"{run.run_id} has no breakpoint '{name}'",
        help=f"`hookline effect list {run.run_id} --pending` shows what waits",
    )


COMMANDS = {
    "orchestrate": Command(
        "advance a run, steered by its hooks", _orchestrate_arguments, _orchestrate
    ),
    "work": Command("serve every run that is due", _work_arguments, _work),
    "answer": Command("answer a breakpoint", _answer_arguments, _answer),
}
