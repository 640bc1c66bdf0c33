"""`hookline gate approve|reject`: a person decides what a gate waits for."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.submissions import FORGE, PEOPLE, SIGNAL, TRUST
from hookline.errors import IllegalTransition
from hookline.flows import control, gate_verbs
from hookline.hooks.verdicts import asked_person
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.gate_show import shown_hook
from hookline.surfaces.cli.gate_work import task_argument
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, say, say_json
from hookline.tasks.verbs import optional_text
from hookline.trust import refuse_agents
from hookline.wiring.work import person

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import Transaction, View


class Decided(msgspec.Struct, rename="camel", frozen=True):
    """What a person decided."""

    task_id: str
    run_id: str
    flow: str
    point: str
    hook: str | None
    decision: str
    by: str
    comment: str | None


def _arguments(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument("--comment", metavar="TEXT", help="why; a rejection's goes to the agent")


def _approve(args: Namespace) -> None:
    _decide(args, "approve")


def _reject(args: Namespace) -> None:
    _decide(args, "reject")


def _decide(args: Namespace, decision: str) -> None:
    refuse_agents(os.environ, f"gate {decision}")
    with writing() as app:
        by = asyncio.run(person(app))
        made = app.change(decide, args.task, decision, by=by, comment=args.comment)
        if args.json:
            say_json(made)
            return
        say(f"{made.task_id}: {shown_hook(made.hook or made.point)} is told: {made.decision}")
        next_step(f"hookline {made.flow} {made.task_id}", "if nothing serves flows")


def decide(
    tx: Transaction, identifier: str, decision: str, *, by: str, comment: str | None
) -> Decided:
    """Send a person's decision to the gate that waits for it, and write it down."""
    task = tx.graph.task(identifier)
    run, asked = _question(tx, task)
    made = Decided(
        task.id,
        run.run_id,
        run.flow,
        asked.point,
        asked.hook,
        decision,
        by,
        optional_text("comment", comment),
    )
    wish: dict[str, Any] = {"decision": decision, "by": by, "comment": made.comment}
    control.send(tx, run.run_id, SIGNAL, wish)
    details = {"run": run.run_id, "point": asked.point, "hook": asked.hook}
    tx.append("gate_decided", task.id, {**details, **wish})
    return made


def _question(view: View, task: Task) -> tuple[Run, Verdict]:
    run = gate_verbs.run_of(view, task.id)
    asked = asked_person(view, run) if run is not None else None
    if run is None or asked is None:
        raise IllegalTransition(
            f"no gate of {task.id} waits for a person",
            help=f"`hookline gate list {task.id}` shows what its gates said",
        )
    if asked.hook == PEOPLE:
        raise IllegalTransition(
            f"{task.id} waits to be merged by a person: {asked.message}",
            help=f"merge it: `{asked.context.get('command')}`",
        )
    if asked.hook == FORGE:
        raise IllegalTransition(
            f"{task.id} waits at the forge: {asked.message}",
            help=f"act there; `hookline merge {task.id}` asks again",
        )
    if asked.hook == TRUST:
        raise IllegalTransition(
            f"{task.id} waits for your trust: {asked.message}",
            help=f"`hookline trust --task {task.id}` shows the changes and asks",
        )
    # A second decision would be taken for the answer to a question that comes later.
    if any(name == SIGNAL for _, name, _ in view.runs.signals(run)):
        raise IllegalTransition(
            f"{task.id} has a decision already, and {run.run_id} has not read it yet",
            help=f"`hookline {run.flow} {task.id}` goes on with it",
        )
    return run, asked


DECIDE_COMMANDS = {
    "approve": Command("let work pass a gate that waits for a person", _arguments, _approve),
    "reject": Command("send work back that waits for a person", _arguments, _reject),
}
