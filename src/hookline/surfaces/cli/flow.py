"""`hookline flow`: what flows there are, start runs of them, look at runs."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import runs
from hookline.domain.events import RUN_EVENTS
from hookline.domain.numbers import is_number
from hookline.domain.runs import JournalDamaged
from hookline.errors import FAILED, BadInput
from hookline.flows import drawing, journal
from hookline.flows.judged_work import JUDGING_FLOWS
from hookline.flows.single import ask_for_effects
from hookline.outside import engine, find_typed, flow_finder, remember_typed
from hookline.surfaces.cli.command import Command, no_arguments, run_argument
from hookline.surfaces.cli.flow_control import CONTROL_COMMANDS
from hookline.surfaces.cli.flow_show import STYLES, effect_json, effect_line, run_line, tell
from hookline.surfaces.cli.flow_value import VALUE_COMMANDS
from hookline.surfaces.cli.flow_watch import at_work, foreground
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, say_row, untrusted
from hookline.surfaces.cli.values import parse_json
from hookline.trust import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.runs import Run
    from hookline.flows.definitions import Flow
    from hookline.ports.store import Transaction


def _list(args: Namespace) -> None:
    with reading() as app:
        found = flow_finder(app).all()
    if args.json:
        say_json([{"name": f.name, "origin": f.origin, "description": f.doc} for f in found])
        return
    for flow in found:
        doc = untrusted(flow.doc.partition("\n")[0], 80)
        name, origin = untrusted(flow.name), untrusted(os.path.relpath(flow.origin))
        parts = (paint(name, "bold"), doc, paint(origin, "dim"))
        say_row("  ".join(part for part in parts if part), 4)
    if not found:
        say("no flows; write one under `flows:` in hookline.yaml or in .hookline/flows/")
    next_step("hookline flow start NAME")


def _start_arguments(p: ArgumentParser) -> None:
    p.add_argument("name", help="a flow's name, or module:function")
    p.add_argument("--input", default="{}", metavar="JSON", help="what the flow is given")
    p.add_argument("--metadata", default="{}", metavar="JSON", help="for hooks to read")
    p.add_argument("--detach", action="store_true", help="leave it to `orchestrate` or `work`")
    p.add_argument("--max-iterations", type=int, metavar="N", help="stop after so many ticks")


def _start(args: Namespace) -> int:
    given, metadata = _object(args.input, "--input"), _object(args.metadata, "--metadata")
    if args.name in JUDGING_FLOWS:  # an agent could leave out what comes before it
        refuse_agents(os.environ, f"flow start {args.name}")
    with writing() as app:
        flow = find_typed(app, args.name)
        flow.check_input(given)

        def start(tx: Transaction) -> str:
            run_id = journal.start(
                tx, args.name, given, metadata, code_digest=flow.digest, pins=flow.pins
            )
            # Before anybody else sees the run, and could take it up.
            remember_typed(app, run_id, args.name)
            return run_id

        run_id = app.change(start)
        if args.detach:
            asyncio.run(_ask_for_effects(app, run_id))
            run = tell(args, app, run_id)
            return FAILED if run.status == runs.FAILED else 0
        return foreground(args, app, run_id, args.max_iterations)


async def _ask_for_effects(app: App, run_id: str) -> None:
    async with at_work(app):
        await ask_for_effects(engine(app), run_id)


def _object(text: str, name: str) -> dict[str, Any]:
    value = parse_json(text, name)
    if not isinstance(value, dict):
        raise BadInput(f"{name} must be a JSON object")
    return value


# Looking at runs


def _status_arguments(p: ArgumentParser) -> None:
    run_argument(p, nargs="?", help="one run; without it, the newest")
    p.add_argument("--status", choices=tuple(STYLES), help="only runs of this status")


def _status(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        if args.run:
            _show_run(args, view.runs.find(args.run), view)
            return
        found = view.runs.runs(status=args.status)
    if args.json:
        say_json(found)
        return
    for run in found:
        say_row(run_line(run), 16)
    if not found:
        say("no runs; `hookline flow start NAME` begins one")


def _show_run(args: Namespace, run: Run, view: View) -> None:
    effects = view.runs.effects(run)
    if args.json:
        say_json({**msgspec.to_builtins(run), "effects": [effect_json(e) for e in effects]})
        return
    say(run_line(run))
    for effect in effects:
        say(f"  {effect_line(effect)}")


def _show_arguments(p: ArgumentParser) -> None:
    run_argument(p, "name", help="a flow's name, or a run such as R-3")


def _is_run(name: str) -> bool:
    return name[:2] in ("R-", "r-") and is_number(name[2:])


def _show(args: Namespace) -> None:
    with reading() as app:
        if _is_run(args.name):
            with app.read() as view:
                _show_run(args, view.runs.find(args.name), view)
            return
        flow = find_typed(app, args.name)
    if args.json:
        say_json(
            {
                "name": flow.name,
                "origin": flow.origin,
                "digest": flow.digest,
                "description": flow.doc,
                "steps": flow.steps,
            }
        )
        return
    say(f"{paint(untrusted(flow.name), 'bold')}  {paint(untrusted(flow.origin), 'dim')}")
    if flow.doc:
        say(untrusted(flow.doc))
    for line in drawing.terminal(drawing.from_steps(flow.steps), paint):
        say(f"  {line}")
    next_step(f"hookline flow start {untrusted(flow.name)}")


def _graph_arguments(p: ArgumentParser) -> None:
    _show_arguments(p)
    p.add_argument(
        "--format", choices=("terminal", "mermaid", "dot"), default="terminal", help="the picture"
    )


def _graph(args: Namespace) -> None:
    with reading() as app:
        parts = _parts(app, args.name)
    if args.format == "terminal":
        text = "\n".join(drawing.terminal(parts, paint))
    else:
        text = {"mermaid": drawing.mermaid, "dot": drawing.dot}[args.format](parts).rstrip("\n")
    if args.json:
        say_json({"name": args.name, "format": args.format, "graph": text})
    else:
        say(text)


def _parts(app: App, name: str) -> list[drawing.Part]:
    if _is_run(name):
        with app.read() as view:
            return drawing.from_effects(view.runs.effects(view.runs.find(name)))
    flow: Flow = find_typed(app, name)
    if not flow.steps:
        raise BadInput(
            f"'{name}' is written in Python: its steps are known when it runs",
            help="give a run of it, such as R-3",
        )
    return drawing.from_steps(flow.steps)


# The journal


def _journal(args: Namespace) -> int:
    with reading() as app, app.read() as view:
        run = view.runs.find(args.run)
        events = view.log.events(node_id=run.run_id, types=tuple(RUN_EVENTS))
    if args.json:
        say_json(list(journal.verify(events)))
        return 0
    damaged = [problem for event in events if (problem := _print_record(event))]
    sys.stdout.flush()
    for problem in damaged:
        note(f"{paint('error', 'red', sys.stderr)}[{problem.code}]: {problem.message}")
    return FAILED if damaged else 0


def _print_record(event: Event) -> JournalDamaged | None:
    """Print a whole record; a damaged one is told, and nobody can take it for a whole one."""
    try:
        for each in journal.verify([event]):
            say_json(each)
    except JournalDamaged as problem:
        return problem
    return None


FLOW_COMMANDS = {
    "list": Command("every flow that has a name", no_arguments, _list),
    "show": Command("a flow's steps, or a run's effects", _show_arguments, _show),
    "start": Command("begin a run of a flow", _start_arguments, _start),
    "status": Command("runs and how they stand", _status_arguments, _status),
    **CONTROL_COMMANDS,
    **VALUE_COMMANDS,
    "journal": Command("a run's journal as JSON lines, verified", run_argument, _journal),
    "graph": Command("a flow or a run as a picture", _graph_arguments, _graph),
}
