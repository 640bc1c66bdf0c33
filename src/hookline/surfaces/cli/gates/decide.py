"""`hookline gate approve|reject|override`: a person decides what a gate waits for, or passes it."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import shown_hook
from hookline.domain.text.terminal import one_line
from hookline.operations.decisions import decide, override
from hookline.pipeline.gate_verbs import open_runs
from hookline.queries.gates import AFTER_MERGE
from hookline.surfaces.cli.command import Command, task_argument
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, next_step, tell_next, untrusted
from hookline.trust.people import refuse_agents
from hookline.wiring.running.hosts import is_served
from hookline.wiring.working.work import person

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _decision(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument(
        "--comment", metavar="TEXT", help="the reason; if you reject, the agent reads it"
    )


def _decide(decision: str, args: Namespace) -> None:
    refuse_agents(os.environ, f"gate {decision}")
    with writing() as app:
        by = asyncio.run(person(app))
        made = app.change(decide, args.task, decision, by=by, comment=args.comment)
        told = f"{shown_hook(made.hook or made.point)} gets your answer: {made.decision}"
        if made.point == AFTER_MERGE:
            told = "`attention` no longer lists its merge"
        if not answer(args, made, f"{made.task_id}: {told}") or made.point == AFTER_MERGE:
            return
        with app.read() as view:
            waiting = [run.run_id for run in open_runs(view) if run.input["taskId"] == made.task_id]
        if not any(is_served(app.project.folder, each) for each in waiting):
            tell_next(f"hookline {made.flow} {made.task_id}")


def _override_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument("gate", help="the gate, as `gate explain` names it")
    p.add_argument("--reason", required=True, metavar="TEXT", help="the reason; it stays on record")


def _override(args: Namespace) -> None:
    refuse_agents(os.environ, "gate override")
    with writing() as app:
        made = override(app, args.task, args.gate, args.reason, by=asyncio.run(person(app)))
    gate, at, by = one_line(made.gate), " and ".join(made.points), untrusted(made.by, 200)
    if answer(args, made, f"{made.task_id}: {gate} at {at} is overridden by {by}"):
        until = "it applies until someone works on the task again"
        next_step(f"hookline submit {made.task_id}", until)


DECIDE_COMMANDS = {
    "approve": Command(
        "approve work that waits for a person", _decision, partial(_decide, "approve")
    ),
    "reject": Command(
        "send back work that waits for a person", _decision, partial(_decide, "reject")
    ),
    "override": Command("bypass a gate, with a reason", _override_arguments, _override),
}
