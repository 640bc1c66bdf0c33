"""`hookline gate run`: ask the gates of a point now; their verdicts are recorded, not acted on."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from hookline.errors import BLOCKED, NEEDS_PERSON
from hookline.flows.judged import export_task, gate_payload
from hookline.hooks.builtin import GATES
from hookline.hooks.verdicts import AUTO_ACCEPTED, verdicts
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.gate_show import note_remediation, shown_hook, verdict_line
from hookline.surfaces.cli.gate_work import (
    agent_argument,
    find_work,
    refuse_at_work,
    task_argument,
    worker_of,
)
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json
from hookline.surfaces.cli.run import refuse_unready
from hookline.wiring.calls import repository
from hookline.wiring.gates import ask_gates

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.hooks.verdicts import Verdict


def _arguments(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument("point", choices=GATES, help="whose gates are asked")
    agent_argument(p)


def _run(args: Namespace) -> int:
    with writing() as app:
        refuse_unready(args, app)
        with app.read() as view:
            task = view.graph.task(args.task)
            refuse_at_work(app, view, task)
            agent = worker_of(app, view, task, args.agent)
            begun = view.log.last()
        asyncio.run(_try(app, task, args.point, agent, quiet=args.json))
        with app.read() as view:
            found = [each for each in verdicts(view, task.id, after=begun) if each.run is None]
    if args.json:
        say_json(found)
    else:
        _tell(task, args.point, found)
    return _exit_code(found)


async def _try(app: App, task: Task, point: str, agent: str | None, *, quiet: bool) -> None:
    work = await find_work(app, task, agent)
    commits = await repository(app).commits_ahead(work.worktree, work.base)
    with app.read() as view:
        path = export_task(view, task, work.worktree)
    payload = gate_payload(work, task.goal, path, commits, {"approvals": [], "trial": True})

    def observe(what: str, details: dict[str, Any]) -> None:
        if what == "hook_started" and not quiet:
            note(paint(f"  … {point} {shown_hook(details['hook'])}", "dim", sys.stderr))

    await ask_gates(app, point, payload, observe)


def _tell(task: Task, point: str, found: list[Verdict]) -> None:
    for each in found:
        say(verdict_line(each))
    if not found:
        say(f"{point}: {AUTO_ACCEPTED}")
    elif found[-1].status == "failure":
        note_remediation(found[-1].remediation_prompt)
    next_step(f"hookline submit {task.id}", "nothing was changed by this trial")


def _exit_code(found: list[Verdict]) -> int:
    last = found[-1] if found else None
    if last is None or last.status in ("success", "skip"):
        return 0
    return NEEDS_PERSON if last.waits_for_person else BLOCKED


RUN_COMMANDS = {
    "run": Command("ask the gates of a point now, without acting on it", _arguments, _run),
}
