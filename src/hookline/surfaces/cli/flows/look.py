"""`hookline flow show|status|journal|graph`: look at flows and runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import RUN_EVENTS
from hookline.domain.runs import model as runs
from hookline.domain.runs.model import JournalDamaged
from hookline.domain.text.display import untrusted
from hookline.domain.text.numbers import is_number
from hookline.errors import FAILED, BadInput
from hookline.flows import journal
from hookline.flows.definitions import drawing
from hookline.flows.outcomes import as_answered
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.flows.show import STYLES, effect_json, effect_line, run_line
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, answer_rows, next_step, note, paint, say_json
from hookline.wiring.running.flows import find_typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.runs.model import Caller, JournalEffect, Run
    from hookline.flows.definitions.finder import FlowDefinition
    from hookline.ports.store import View


def flow_json(flow: FlowDefinition) -> dict[str, str]:
    """A flow as `--json` shows it."""
    return {"name": flow.name, "origin": flow.origin, "description": flow.doc}


def _status_arguments(p: ArgumentParser) -> None:
    run_argument(p, nargs="?", help="one run (default: the newest runs)")
    p.add_argument("--status", choices=tuple(STYLES), help="only runs with this status")


def _status(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        if args.run:
            _show_run(args, view.runs.find(args.run), view)
            return
        found = [as_answered(view, run) for run in view.runs.runs(status=args.status)]
    answer_rows(args, found, run_line, "no runs; `hookline flow start NAME` starts one", hang=16)


def _show_run(args: Namespace, run: Run, view: View) -> None:
    effects = view.runs.effects(run)
    caller = view.runs.caller_of(run.run_id)
    by = {"calledBy": msgspec.to_builtins(caller)} if caller is not None else {}
    run = as_answered(view, run)
    shown = {**msgspec.to_builtins(run), **by, "effects": [effect_json(e) for e in effects]}
    answer(args, shown, *_run_lines(view, run, effects, caller))


def _run_lines(
    view: View, run: Run, effects: list[JournalEffect], caller: Caller | None
) -> Iterator[str]:
    yield run_line(run)
    if caller is not None:
        yield f"  called by {caller.run_id}, {untrusted(caller.effect_id)}"
    for effect in effects:
        yield f"  {effect_line(effect)}"
        if effect.called_run and effect.status == runs.PENDING:
            yield f"    {run_line(as_answered(view, view.runs.find(effect.called_run)))}"


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
    title = f"{paint(untrusted(flow.name), 'bold')}  {paint(untrusted(flow.origin), 'dim')}"
    doc = [untrusted(flow.doc)] if flow.doc else []
    steps = [f"  {line}" for line in drawing.terminal(drawing.from_steps(flow.steps), paint)]
    shown = {**flow_json(flow), "digest": flow.digest, "steps": flow.steps}
    if answer(args, shown, title, *doc, *steps):
        next_step(f"hookline flow start {untrusted(flow.name)}")


def _graph_arguments(p: ArgumentParser) -> None:
    _show_arguments(p)
    p.add_argument(
        "--format",
        choices=("terminal", "mermaid", "dot"),
        default="terminal",
        help="the output format",
    )


def _graph(args: Namespace) -> None:
    with reading() as app:
        parts = _parts(app, args.name)
    if args.format == "terminal":
        text = "\n".join(drawing.terminal(parts, paint))
    else:
        text = {"mermaid": drawing.mermaid, "dot": drawing.dot}[args.format](parts).rstrip("\n")
    answer(args, {"name": args.name, "format": args.format, "graph": text}, text)


def _parts(app: App, name: str) -> list[drawing.Part]:
    if _is_run(name):
        with app.read() as view:
            return drawing.from_effects(view.runs.effects(view.runs.find(name)))
    flow = find_typed(app, name)
    if not flow.steps:
        raise BadInput(
            f"'{name}' is written in Python: its steps are known only when it runs",
            help="name one of its runs, such as R-3",
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
    damaged = []
    for event in events:
        try:
            say_json(*journal.verify([event]))
        except JournalDamaged as problem:  # it is told, and nobody can take it for a whole one
            damaged.append(problem)
    sys.stdout.flush()
    for found in damaged:
        note(f"{paint('error', 'red', sys.stderr)}[{found.code}]: {found.message}")
    return FAILED if damaged else 0


LOOK_COMMANDS = {
    "show": Command("show a flow's steps, or a run's effects", _show_arguments, _show),
    "status": Command("list runs and their status", _status_arguments, _status),
    "journal": Command("verify a run's journal and print it as JSON lines", run_argument, _journal),
    "graph": Command("draw a flow or a run", _graph_arguments, _graph),
}
