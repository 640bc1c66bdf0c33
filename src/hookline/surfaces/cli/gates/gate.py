"""`hookline gate`: what gates said about a task's work, and which reject it."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.answers import AUTO_ACCEPTED
from hookline.domain.hooks.names import short_name, shown_hook
from hookline.domain.text.terminal import one_line
from hookline.errors import BLOCKED, NEEDS_PERSON
from hookline.hooks.builtin import GATES
from hookline.operations import gate_trials
from hookline.operations.decisions import decide, override
from hookline.pipeline.gate_verbs import open_runs
from hookline.queries.waiting.gates import AFTER_MERGE
from hookline.surfaces.cli.command import Command, agent_argument, task_argument
from hookline.surfaces.cli.gates import show
from hookline.surfaces.cli.gates.show import verdict_line
from hookline.surfaces.cli.opening import reading, refuse_unready, writing
from hookline.surfaces.cli.output import (
    answer,
    next_step,
    note,
    paint,
    say,
    say_row,
    tell_next,
    untrusted,
    warn,
)
from hookline.surfaces.cli.work.costs import cost_text, role_lines
from hookline.trust.people import refuse_agents
from hookline.wiring.project.configured import GONE, PUT_BACK
from hookline.wiring.running.hosts import is_served
from hookline.wiring.working.work import person

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from hookline.hooks.gates.resolution import GateEntry, Resolved, ResolvedGatekeeper


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


def _list(args: Namespace) -> None:
    with reading() as app:
        task, found, whole = gate_trials.judged(app, args.task)
    told = [(msgspec.to_builtins(e.verdict), {"answer": e.answer, "cost": c}) for e, c in found]
    if not answer(args, [verdict | more for verdict, more in told]):
        return
    for each, cost in found:
        say_row(verdict_line(each.verdict), 4)
        for line in show.output_lines(each.verdict.output):
            say(line)
        for line in show.review_lines(each):
            say_row(f"    {paint('│', 'dim')} {untrusted(line, show.MAX_SAID)}", 6)
        for line in role_lines(cost.roles):
            say(f"    {paint(line, 'dim')}")
    if whole is not None:
        say(f"{paint(task.id, 'bold')} cost {cost_text(whole)}")
        for line in role_lines(whole.roles):
            say(f"  {line}")
    if not found:
        say(f"no gate has checked {task.id} yet")
        next_step(f"hookline gate explain {task.id}")


# explain


def _whose_work(p: ArgumentParser) -> None:
    task_argument(p)
    agent_argument(p)


def _explain(args: Namespace) -> None:
    with reading() as app:
        task, agent, found, is_gone = gate_trials.explain(app, args.task, args.agent)
    if is_gone:
        warn(GONE, help=PUT_BACK)
    kind = untrusted(f"type {task.type}" if task.type else "no type", 80)
    title = f"{paint(task.id, 'bold')}  {kind}, agent {untrusted(agent or 'none', 80)}"
    explained = {"taskId": task.id, "type": task.type, "agent": agent, "points": found}
    if not answer(args, explained, title):
        return
    for each in found:
        _show_point(each)
    for keeper in (k for each in found for entry in each.gates for k in entry.gatekeepers):
        if not keeper.profiles:
            _warn_of_gap(keeper)
    next_step(f"hookline submit {task.id}")


def _warn_of_gap(gap: ResolvedGatekeeper) -> None:
    name = untrusted(gap.name, 80)
    authors = untrusted(" and ".join(gap.authors), 200)
    own = f" except {authors}, the author of this work" if authors else ""
    help = f"define an agent '{name}' or 'gatekeeper-{name}' under `agents:`"
    warn(f"there is no gatekeeper '{name}'{own}", help=help)


def _show_point(resolved: Resolved) -> None:
    accepted = "  auto-accepted" if resolved.auto_accepted else ""
    source = paint(f"({untrusted(resolved.source)})", "dim")
    say(f"{paint(resolved.point, 'bold')}{paint(accepted, 'yellow')}  {source}")
    for number, entry in enumerate(resolved.gates, 1):
        say(f"  {number}. {_entry_line(entry)}")


def _entry_line(entry: GateEntry) -> str:
    called = entry.target if entry.kind == "built-in" else entry.hook
    parts = [untrusted(short_name(called), 60)]
    if entry.gatekeepers:
        parts.append(", ".join(_gatekeeper(each) for each in entry.gatekeepers))
    if entry.when:
        parts.append(f"when {untrusted(entry.when, 80)}")
    if not entry.enabled:
        parts.append("switched off")
    place = f"{entry.origin}, {entry.source}" if entry.origin != "built-in" else entry.source
    return f"{'  '.join(parts):44}  {paint(untrusted(place), 'dim')}"


def _gatekeeper(each: ResolvedGatekeeper) -> str:
    profiles = " or ".join(untrusted(name, 80) for name in each.profiles) or "nobody"
    name = untrusted(each.name, 80)
    return name if profiles == name else f"{name} = {profiles}"


# run: the verdicts are recorded, not acted on


def _run_arguments(p: ArgumentParser) -> None:
    task_argument(p)
    p.add_argument("point", choices=GATES, help="the point whose gates to try")
    agent_argument(p)


def _run(args: Namespace) -> int:
    with writing() as app:
        refuse_unready(args, app)
        observe = _observer(args.point, quiet=args.json)
        trial = gate_trials.try_point(app, args.task, args.point, args.agent, observe)
        task, found = asyncio.run(trial)
    lines = [verdict_line(each) for each in found] or [f"{args.point}: {AUTO_ACCEPTED}"]
    last = found[-1] if found else None
    if answer(args, found, *lines):
        show.note_remediation(
            last.remediation_prompt if last and last.status == "failure" else None
        )
        next_step(f"hookline submit {task.id}", "this trial changed nothing")
    if last is None or last.status in ("success", "skip"):
        return 0
    return NEEDS_PERSON if last.waits_for_person else BLOCKED


def _observer(point: str, *, quiet: bool) -> Callable[[str, dict[str, Any]], None]:
    def observe(what: str, details: dict[str, Any]) -> None:
        if what == "hook_started" and not quiet:
            note(paint(f"  … {point} {shown_hook(details['hook'])}", "dim", sys.stderr))

    return observe


GATE_COMMANDS = {
    "list": Command("list every verdict on a task's work, in order", task_argument, _list),
    "explain": Command("show which gates apply to a task, and why", _whose_work, _explain),
    "run": Command("run the gates of a point now, without consequences", _run_arguments, _run),
    **DECIDE_COMMANDS,
}
