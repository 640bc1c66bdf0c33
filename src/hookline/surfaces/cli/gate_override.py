"""`hookline gate override`: a person lets work pass a gate by, and says why."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.submissions import SIGNAL
from hookline.domain.tasks import OPEN
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control, gate_verbs
from hookline.hooks.names import short_name
from hookline.hooks.overrides import Override, record
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.gate_show import shown_hook
from hookline.surfaces.cli.gate_work import task_argument, worker_of
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, say, say_json, untrusted
from hookline.tasks.verbs import check_text
from hookline.trust import refuse_agents
from hookline.wiring.work import person

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction

POINTS = ("before_submit", "before_merge")


class Overridden(msgspec.Struct, rename="camel", frozen=True):
    """What `gate override --json` prints."""

    task_id: str
    gate: str
    points: list[str]
    reason: str
    by: str


def _arguments(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument("gate", help="the gate, as `gate explain` names it")
    p.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept for good")


def _override(args: Namespace) -> None:
    refuse_agents(os.environ, "gate override")
    with writing() as app:
        with app.read() as view:
            task = view.graph.task(args.task)
        by, reason = asyncio.run(person(app)), check_text("reason", args.reason)
        found = [
            Override(point=point, hook=hook, reason=reason, by=by)
            for point, hook in _gates(app, task, args.gate)
        ]
        app.change(_write, task.id, found)
    points = [each.point for each in found]
    if args.json:
        say_json(Overridden(task.id, short_name(found[0].hook), points, reason, by))
        return
    at = " and ".join(points)
    say(f"{task.id}: {shown_hook(found[0].hook)} at {at} is overridden by {untrusted(by, 200)}")
    next_step(f"hookline submit {task.id}", "it counts until somebody works on the task again")


def _gates(app: App, task: Task, wanted: str) -> list[tuple[str, str]]:
    """The gates of that name that stand in the way of a task: point and hook."""
    with app.read() as view:
        agent = worker_of(app, view, task)
    found = [
        (point, hook.name)
        for point in POINTS
        for hook in app.standing.hooks_at(point, agent=agent, task_type=task.type)
        if wanted in (hook.name, short_name(hook.name))
    ]
    if not found:
        raise BadInput(
            f"no gate '{untrusted(wanted, 80)}' stands in the way of {task.id}",
            help=f"`hookline gate explain {task.id}` shows those that do",
        )
    return found


def _write(tx: Transaction, task_id: str, found: list[Override]) -> None:
    task = tx.graph.task(task_id)
    if task.state not in OPEN:
        raise IllegalTransition(f"{task.id} is {task.state}: no gate judges it any more")
    for each in found:
        record(tx, task.id, each)
    run = gate_verbs.run_of(tx, task.id)
    if run is not None and not any(name == SIGNAL for _, name, _ in tx.runs.signals(run)):
        control.send(tx, run.run_id, SIGNAL, None)  # gates that wait are asked again


OVERRIDE_COMMANDS = {
    "override": Command("let work pass a gate by, and say why", _arguments, _override),
}
