"""`hookline flow`: list flows and start runs of them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.text.display import untrusted
from hookline.errors import FAILED
from hookline.flows import journal
from hookline.pipeline.checked_work import CHECKING_FLOWS
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.flows.control import CONTROL_COMMANDS
from hookline.surfaces.cli.flows.look import LOOK_COMMANDS, flow_json
from hookline.surfaces.cli.flows.show import tell
from hookline.surfaces.cli.flows.watch import first_effects, foreground
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, answer_rows, next_step, paint
from hookline.surfaces.cli.values import parse_object
from hookline.trust.people import refuse_agents
from hookline.wiring.running.flows import find_typed, flow_finder, remember_typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.flows.definitions.finder import FlowDefinition
    from hookline.ports.store import Transaction


def _list(args: Namespace) -> None:
    with reading() as app:
        found = flow_finder(app).all()
    if not answer(args, [flow_json(flow) for flow in found]):
        return
    nothing = "no flows yet; write one under `flows:` in hookline.yaml or in .hookline/flows/"
    answer_rows(args, found, _flow_line, nothing, hang=4)
    next_step("hookline flow start NAME")


def _flow_line(flow: FlowDefinition) -> str:
    name, origin = untrusted(flow.name), untrusted(os.path.relpath(flow.origin))
    doc = untrusted(flow.doc.partition("\n")[0], 80)
    return "  ".join(part for part in (paint(name, "bold"), doc, paint(origin, "dim")) if part)


def _start_arguments(p: ArgumentParser) -> None:
    p.add_argument("name", help="a flow's name, or module:function")
    p.add_argument("--input", default="{}", metavar="JSON", help="the flow's input")
    p.add_argument("--metadata", default="{}", metavar="JSON", help="extra data for hooks")
    p.add_argument(
        "--detach", action="store_true", help="do not advance it; `orchestrate` or `work` will"
    )
    p.add_argument("--max-iterations", type=int, metavar="N", help="stop after N iterations")


def _start(args: Namespace) -> int:
    given, metadata = parse_object(args.input, "--input"), parse_object(args.metadata, "--metadata")
    if args.name in CHECKING_FLOWS:  # an agent could leave out what comes before it
        refuse_agents(os.environ, f"flow start {args.name}")
    with writing() as app:
        flow = find_typed(app, args.name)
        flow.check_input(given)

        def start(tx: Transaction) -> str:
            run_id = journal.start(
                tx, args.name, given, metadata, code_digest=flow.digest, pins=flow.pins
            )
            # Before anyone else sees the run, and could take it up.
            remember_typed(app, run_id, args.name)
            return run_id

        run_id = app.change(start)
        if args.detach:
            asyncio.run(first_effects(app, run_id))
            run = tell(args, app, run_id)
            return FAILED if run.status == runs.FAILED else 0
        return foreground(args, app, run_id, args.max_iterations)


FLOW_COMMANDS = {
    "list": Command("list the named flows", no_arguments, _list),
    "show": LOOK_COMMANDS["show"],
    "start": Command("start a run of a flow", _start_arguments, _start),
    "status": LOOK_COMMANDS["status"],
    **CONTROL_COMMANDS,
    "journal": LOOK_COMMANDS["journal"],
    "graph": LOOK_COMMANDS["graph"],
}
