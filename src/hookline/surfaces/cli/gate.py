"""`hookline gate`: what gates said about a task's work, and which stand in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.resolution import Worker, resolve
from hookline.hooks.verdicts import verdicts
from hookline.outside import standing
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.gate_decide import DECIDE_COMMANDS
from hookline.surfaces.cli.gate_run import RUN_COMMANDS
from hookline.surfaces.cli.gate_show import verdict_line
from hookline.surfaces.cli.gate_work import agent_argument, task_argument, worker_of
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.hooks.resolution import Entry, Gatekeeper, Resolved


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task)
        found = list(verdicts(view, task.id))
    if args.json:
        say_json(found)
        return
    for each in found:
        say(verdict_line(each))
    if not found:
        say(f"no gate has judged {task.id} yet")
        next_step(f"hookline gate explain {task.id}")


# explain


def _explain_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    agent_argument(p)


def _explain(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task)
        agent = worker_of(app, view, task, args.agent)
        switches = view.calls.switches()
        worker = Worker(agent=agent, task_type=task.type, judges=_judges(app, task))
        profiles = app.settings.agents if app.settings is not None else {}
        found = resolve(standing(app), worker, profiles, switches)
    if args.json:
        say_json({"taskId": task.id, "type": task.type, "agent": agent, "points": found})
        return
    kind = f"type {task.type}" if task.type else "no type"
    say(f"{paint(task.id, 'bold')}  {untrusted(kind, 80)}, agent {untrusted(agent or 'none', 80)}")
    for each in found:
        _show_point(each)
    for name in sorted({gap.name for each in found for gap in _gaps(each)}):
        note(f"warning: nobody can be gatekeeper '{untrusted(name, 80)}': this gate would fail")
        note(f"  = help: define an agent '{untrusted(name, 80)}' under `agents:`")
    next_step(f"hookline submit {task.id}")


def _judges(app: App, task: Task) -> list[str]:
    known = app.settings.task_types.get(task.type or "") if app.settings is not None else None
    return known.agents.gatekeeper if known is not None else []


def _gaps(resolved: Resolved) -> list[Gatekeeper]:
    named = [each for entry in resolved.gates for each in entry.gatekeepers]
    return [each for each in named if not each.profiles]


def _show_point(resolved: Resolved) -> None:
    accepted = "  auto-accepted" if resolved.auto_accepted else ""
    source = paint(f"({untrusted(resolved.source)})", "dim")
    say(f"{paint(resolved.point, 'bold')}{paint(accepted, 'yellow')}  {source}")
    for number, entry in enumerate(resolved.gates, 1):
        say(f"  {number}. {_entry_line(entry)}")


def _entry_line(entry: Entry) -> str:
    called = entry.target if entry.kind == "built-in" else entry.hook
    parts = [untrusted(called, 60)]
    if entry.gatekeepers:
        parts.append(", ".join(_judge(each) for each in entry.gatekeepers))
    if entry.when:
        parts.append(f"when {untrusted(entry.when, 80)}")
    if not entry.enabled:
        parts.append("switched off")
    place = f"{entry.origin}, {entry.source}" if entry.origin != "built-in" else entry.source
    return f"{'  '.join(parts):44}  {paint(untrusted(place), 'dim')}"


def _judge(each: Gatekeeper) -> str:
    profiles = " or ".join(untrusted(name, 80) for name in each.profiles) or "nobody"
    name = untrusted(each.name, 80)
    return name if profiles == name else f"{name} = {profiles}"


GATE_COMMANDS = {
    "list": Command("every verdict on a task's work, in order", task_argument, _list),
    "explain": Command(
        "which gates stand in a task's way, and why these", _explain_arguments, _explain
    ),
    **RUN_COMMANDS,
    **DECIDE_COMMANDS,
}
