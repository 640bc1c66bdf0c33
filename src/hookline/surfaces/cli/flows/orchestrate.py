"""`hookline orchestrate` and `answer`: advance one run, answer a breakpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.errors import BadInput, IllegalTransition
from hookline.flows.called_runs import first_caller
from hookline.operations.runs import answer as answer_breakpoint
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.flows.show import run_json
from hookline.surfaces.cli.flows.watch import foreground
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, note, tell_next, untrusted
from hookline.wiring.calling.calls import owner_of
from hookline.wiring.running.hosts import is_served

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _bounded_run(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("--max-iterations", type=int, metavar="N", help="stop after N iterations")


def _orchestrate(args: Namespace) -> int:
    if args.max_iterations is not None and args.max_iterations < 1:
        raise BadInput("--max-iterations must be at least 1")
    with writing() as app:
        with app.read() as view:
            run = view.runs.find(args.run)
            is_elsewhere = owner_of(app).is_elsewhere(view, run.run_id)
        if run.status == runs.PAUSED:
            help = f"`hookline flow resume {run.run_id}` resumes it"
            raise IllegalTransition(f"{run.run_id} is paused", help=help)
        if is_elsewhere and not args.json:
            note(f"another process is advancing {run.run_id}; this one takes over when it exits")
        return foreground(args, app, run.run_id, args.max_iterations)


# Answering


def _answer_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("breakpoint", help="the breakpoint: its effect's id, or its step")
    p.add_argument("answer", choices=("yes", "no"), help="your answer")
    p.add_argument("--note", metavar="TEXT", help="a comment for the flow")


def _answer(args: Namespace) -> None:
    with writing() as app:
        yes = args.answer == "yes"
        effect_id = answer_breakpoint(app, args.run, args.breakpoint, yes, args.note)
        with app.read() as view:
            run = view.runs.find(args.run)
            first = first_caller(view, run)
        told = f"{run.run_id}: {untrusted(effect_id)} is answered with {args.answer}"
        value = {"effectId": effect_id, "answer": yes, "note": args.note}
        told_all = answer(args, {**run_json(run), **value}, told)
        if told_all and not is_served(app.project.folder, first.run_id):
            tell_next(f"hookline orchestrate {first.run_id}")


COMMANDS = {
    "orchestrate": Command("advance a run, steered by its hooks", _bounded_run, _orchestrate),
    "answer": Command("answer a breakpoint", _answer_arguments, _answer),
}
