"""`hookline orchestrate` and `answer`: advance one run, answer a breakpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.runs.model import OK, PENDING, EffectResolved, Resolution, UnknownEffect
from hookline.errors import BadInput, IllegalTransition
from hookline.flows.called_runs import first_caller
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.flows.effect import post
from hookline.surfaces.cli.flows.show import run_json
from hookline.surfaces.cli.flows.watch import foreground
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, note, tell_next, untrusted
from hookline.trust.people import refuse_agents
from hookline.wiring.calling.calls import owner_of
from hookline.wiring.running.hosts import is_served

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.runs.model import JournalEffect, Run


def _bounded_run(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("--max-iterations", type=int, metavar="N", help="stop after N iterations")


def _orchestrate(args: Namespace) -> int:
    if args.max_iterations is not None and args.max_iterations < 1:
        raise BadInput("--max-iterations must be at least 1")
    with writing() as app:
        with app.read() as view:
            run = view.runs.find(args.run)
            holder, _, until = view.runs.leases.holder(run.run_id)
        if run.status == runs.PAUSED:
            help = f"`hookline flow resume {run.run_id}` resumes it"
            raise IllegalTransition(f"{run.run_id} is paused", help=help)
        held = holder is not None and not owner_of(app).is_free(holder, until)
        if held and not args.json:
            note(f"another process is advancing {run.run_id}; this one takes over when it exits")
        return foreground(args, app, run.run_id, args.max_iterations)


# Answering


def _answer_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("breakpoint", help="the breakpoint: its effect's id, or its step")
    p.add_argument("answer", choices=("yes", "no"), help="your answer")
    p.add_argument("--note", metavar="TEXT", help="a comment for the flow")


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
            first = first_caller(view, run)
        told = f"{run.run_id}: {untrusted(effect.effect_id)} is answered with {args.answer}"
        told_all = answer(args, {**run_json(run), "effectId": effect.effect_id, **value}, told)
        if told_all and not is_served(app.project.folder, first.run_id):
            tell_next(f"hookline orchestrate {first.run_id}")


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
        raise EffectResolved(f"{run.run_id} already has an answer for '{name}'")
    help = f"`hookline effect list {run.run_id} --pending` shows what waits"
    raise UnknownEffect(f"{run.run_id} has no breakpoint '{name}'", help=help)


COMMANDS = {
    "orchestrate": Command("advance a run, steered by its hooks", _bounded_run, _orchestrate),
    "answer": Command("answer a breakpoint", _answer_arguments, _answer),
}
