"""`hookline gate`: what gates said about a task's work, and which stand in its way."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.blobs import FileBlobs
from hookline.flows.judgements import judgements
from hookline.flows.spending import asked_by, cost_of, turns_of
from hookline.hooks.names import short_name
from hookline.hooks.resolution import Worker, resolve
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.cost_show import cost_text, role_lines
from hookline.surfaces.cli.gate_decide import DECIDE_COMMANDS
from hookline.surfaces.cli.gate_override import OVERRIDE_COMMANDS
from hookline.surfaces.cli.gate_run import RUN_COMMANDS
from hookline.surfaces.cli.gate_show import MAX_SAID, output_lines, review_lines, verdict_line
from hookline.surfaces.cli.gate_work import agent_argument, task_argument, worker_of
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, say_row, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.hooks.resolution import Entry, Gatekeeper, Resolved


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task)
        turns = turns_of(view, task.id)
        judged = judgements(view, task.id, FileBlobs(app.project.blobs))
        found = [(each, cost_of(asked_by(each.verdict, turns))) for each in judged]
    if args.json:
        said = [(msgspec.to_builtins(each.verdict), each.answer, cost) for each, cost in found]
        say_json([{**verdict, "answer": answer, "cost": cost} for verdict, answer, cost in said])
        return
    for each, cost in found:
        say_row(verdict_line(each.verdict), 4)
        for line in output_lines(each.verdict.output):
            say(line)
        for line in review_lines(each):
            say_row(f"    {paint('│', 'dim')} {untrusted(line, MAX_SAID)}", 6)
        for line in role_lines(cost.roles):
            say(f"    {paint(line, 'dim')}")
    if turns:
        say(f"{paint(task.id, 'bold')} cost {cost_text(cost_of(turns))}")
        for line in role_lines(cost_of(turns).roles):
            say(f"  {line}")
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
        profiles = app.settings.agents if app.settings is not None else {}
        found = resolve(app.standing, Worker(agent, task.type), profiles, switches)
    if args.json:
        say_json({"taskId": task.id, "type": task.type, "agent": agent, "points": found})
        return
    kind = f"type {task.type}" if task.type else "no type"
    say(f"{paint(task.id, 'bold')}  {untrusted(kind, 80)}, agent {untrusted(agent or 'none', 80)}")
    for each in found:
        _show_point(each)
    for gap in (gap for each in found for gap in _gaps(each)):
        _warn(gap)
    next_step(f"hookline submit {task.id}")


def _gaps(resolved: Resolved) -> list[Gatekeeper]:
    named = [each for entry in resolved.gates for each in entry.gatekeepers]
    return [each for each in named if not each.profiles]


def _warn(gap: Gatekeeper) -> None:
    name = untrusted(gap.name, 80)
    own = f" but {untrusted(gap.author, 80)}, whose own work it is" if gap.author else ""
    note(f"{paint('warning', 'yellow', sys.stderr)}: nobody can be gatekeeper '{name}'{own}")
    note(f"  = help: define an agent '{name}' or 'gatekeeper-{name}' under `agents:`")


def _show_point(resolved: Resolved) -> None:
    accepted = "  auto-accepted" if resolved.auto_accepted else ""
    source = paint(f"({untrusted(resolved.source)})", "dim")
    say(f"{paint(resolved.point, 'bold')}{paint(accepted, 'yellow')}  {source}")
    for number, entry in enumerate(resolved.gates, 1):
        say(f"  {number}. {_entry_line(entry)}")


def _entry_line(entry: Entry) -> str:
    called = entry.target if entry.kind == "built-in" else entry.hook
    parts = [untrusted(short_name(called), 60)]
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
    **OVERRIDE_COMMANDS,
}
