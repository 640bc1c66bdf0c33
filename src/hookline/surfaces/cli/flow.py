"""`hookline flow`: start runs, look at them, and steer them."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain import runs
from hookline.domain.runs import TERMINAL, Run
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, BadInput, IllegalTransition
from hookline.flows import journal
from hookline.flows.engine import Done, Parked
from hookline.flows.runner import Heartbeat, Runner
from hookline.outside import engine, flow_finder
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import deliver, reading, writing
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, untrusted
from hookline.surfaces.cli.values import parse_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.ports import Transaction

STYLES = {
    runs.RUNNING: "yellow",
    runs.PARKED: "cyan",
    runs.PAUSED: "cyan",
    runs.COMPLETED: "green",
    runs.FAILED: "red",
    runs.CANCELLED: "dim",
}


def _list(args: Namespace) -> None:
    with reading() as app:
        found = flow_finder(app).all()
    if args.json:
        say_json([{"name": f.name, "origin": f.origin, "description": f.doc} for f in found])
        return
    for flow in found:
        doc = untrusted(flow.doc.partition("\n")[0], 80)
        say(f"{paint(untrusted(flow.name), 'bold')}  {doc}  {paint(untrusted(flow.origin), 'dim')}")
    if not found:
        say("no flows; write one under `flows:` in hookline.yaml or in .hookline/flows/")


def _start_arguments(p: ArgumentParser) -> None:
    p.add_argument("name", help="a flow's name, or module:function")
    p.add_argument("--input", default="{}", metavar="JSON", help="what the flow is given")
    p.add_argument("--metadata", default="{}", metavar="JSON", help="for hooks to read")
    p.add_argument("--detach", action="store_true", help="leave it to `orchestrate` or `work`")
    p.add_argument("--max-iterations", type=int, metavar="N", help="stop after so many ticks")


def _start(args: Namespace) -> int:
    given, metadata = _object(args.input, "--input"), _object(args.metadata, "--metadata")
    with writing() as app:
        flow = flow_finder(app).find(args.name)
        run_id = app.change(journal.start, args.name, given, metadata, code_digest=flow.digest)
        if args.detach:
            _tell(args, app, run_id)
            next_step(f"hookline orchestrate {run_id}")
            return 0
        return foreground(args, app, run_id, args.max_iterations)


def foreground(args: Namespace, app: App, run_id: str, max_iterations: int | None = None) -> int:
    """Advance a run while someone watches; ^C parks it."""
    try:
        result = asyncio.run(advance(app, run_id, max_iterations, quiet=args.json))
    except KeyboardInterrupt:
        note(f"{run_id} is parked; go on with `hookline orchestrate {run_id}`")
        return INTERRUPTED
    deliver(app)
    _tell(args, app, run_id)
    return exit_code(app, run_id, result)


async def advance(
    app: App, run_id: str, max_iterations: int | None = None, *, quiet: bool = False
) -> Done | Parked:
    """Advance a run in this process, its lease kept alive by a heartbeat."""

    def open_store() -> SqliteStore:
        return SqliteStore(app.project.database)

    with Heartbeat(open_store, app.owner):
        runner = Runner(engine(app, _observer(app, quiet)))
        return await runner.run_one(run_id, max_iterations=max_iterations)


def _observer(app: App, quiet: bool) -> Any:
    def tell(what: str, details: dict[str, Any]) -> None:
        if quiet:
            return
        if what == "code-changed":
            note(f"{details['runId']}: the flow's code changed since this chapter began")
        elif what == "effect":
            note(_effect_line(app, details))

    return tell


def _effect_line(app: App, details: dict[str, Any]) -> str:
    with app.read() as view:
        effect = view.runs.effect(view.runs.find(details["runId"]), details["effectId"])
    mark = {"ok": paint("✓", "green", sys.stderr), "error": paint("✗", "red", sys.stderr)}
    error = f"  {untrusted(effect.error, 100)}" if effect.error else ""
    return f"  {mark.get(effect.status, '·')} {effect.kind:6} {untrusted(effect.effect_id)}{error}"


def exit_code(app: App, run_id: str, result: Done | Parked) -> int:
    """How a command ends that advanced a run."""
    if isinstance(result, Done):
        return 0 if result.status == runs.COMPLETED else FAILED
    if "iteration limit" in result.reason:
        return LIMIT
    return NEEDS_PERSON if result.needs_person else 0


def _tell(args: Namespace, app: App, run_id: str) -> None:
    with app.read() as view:
        run = view.runs.find(run_id)
    if args.json:
        say_json(
            {
                "runId": run.run_id,
                "status": run.status,
                "value": run.value,
                "error": run.error,
                "reason": run.reason,
            }
        )
        return
    say(run_line(run))
    if run.status == runs.PARKED:
        next_step(f"hookline flow status {run.run_id}")


def run_line(run: Run) -> str:
    """A run on one line."""
    why = run.error or run.reason or ""
    return (
        f"{paint(f'{run.run_id:5}', 'bold')} {paint(f'{run.status:9}', STYLES[run.status])} "
        f"{untrusted(run.flow)}  {paint(untrusted(why, 100), 'dim')}".rstrip()
    )


def _status_arguments(p: ArgumentParser) -> None:
    p.add_argument("run", nargs="?", help="one run; without it, the newest")
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
        say(run_line(run))
    if not found:
        say("no runs; `hookline flow start NAME` begins one")


def _show_run(args: Namespace, run: Run, view: Any) -> None:
    effects = view.runs.effects(run)
    if args.json:
        say_json({**msgspec.to_builtins(run), "effects": [effect_json(e) for e in effects]})
        return
    say(run_line(run))
    for effect in effects:
        error = f"  {untrusted(effect.error, 100)}" if effect.error else ""
        say(f"  {effect.status:8} {effect.kind:11} {untrusted(effect.effect_id)}{error}")


def effect_json(effect: Any) -> dict[str, Any]:
    """An effect as `--json` shows it."""
    return {
        "effectId": effect.effect_id,
        "step": effect.step,
        "kind": effect.kind,
        "status": effect.status,
        "metadata": effect.metadata,
        "requestedAt": effect.requested_at,
        "resolvedAt": effect.resolved_at,
        "args": effect.args,
        "value": effect.value,
        "error": effect.error,
        "attempts": effect.attempts,
    }


def _show_arguments(p: ArgumentParser) -> None:
    p.add_argument("name", help="a flow's name, or a run such as R-3")


def _show(args: Namespace) -> None:
    with reading() as app:
        if args.name[:2] in ("R-", "r-"):
            with app.read() as view:
                _show_run(args, view.runs.find(args.name), view)
            return
        flow = flow_finder(app).find(args.name)
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
    say(f"{untrusted(flow.name)}  {paint(untrusted(flow.origin), 'dim')}")
    if flow.doc:
        say(untrusted(flow.doc))
    for step in flow.steps:
        act = next((k for k, v in step.items() if k not in ("id", "metadata", "check") and v), "")
        say(f"  {untrusted(step['id'])}: {act}")


def _run_argument(p: ArgumentParser) -> None:
    p.add_argument("run", help="the run, such as R-3")


def _cancel_arguments(p: ArgumentParser) -> None:
    _run_argument(p)
    p.add_argument("--reason", metavar="R", help="why")


def _signal_run(app: App, run_id: str, name: str, value: Any) -> None:
    def send(tx: Transaction) -> None:
        run = tx.runs.find(run_id)
        if run.status in TERMINAL:
            raise IllegalTransition(f"{run.run_id} is {run.status}")
        holder, _, _ = tx.runs.holder(run_id)
        if name == "cancel" and holder is None:
            journal.write(tx, "run_cancelled", run.run_id, {"reason": value.get("reason")})
        else:
            journal.write(tx, "run_signalled", run.run_id, {"name": name, "value": value})

    app.change(send)


def _cancel(args: Namespace) -> None:
    with writing() as app:
        _signal_run(app, args.run, "cancel", {"reason": args.reason or "cancelled by hand"})
        _tell(args, app, args.run)


def _resume(args: Namespace) -> int:
    with writing() as app:
        with app.read() as view:
            run = view.runs.find(args.run)
        if run.status in TERMINAL:
            raise IllegalTransition(f"{run.run_id} is {run.status}")
        if run.status == runs.PAUSED:
            app.change(lambda tx: journal.write(tx, "run_resumed", run.run_id, {}))
        return foreground(args, app, run.run_id)


def _journal(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        run = view.runs.find(args.run)
        events = view.log.events(node_id=run.run_id)
    for event in events:
        print(msgspec.json.encode(event).decode())


def _object(text: str, name: str) -> dict[str, Any]:
    value = parse_json(text, name)
    if not isinstance(value, dict):
        raise BadInput(f"{name} must be a JSON object")
    return value


FLOW_COMMANDS = {
    "list": Command("every flow that has a name", no_arguments, _list),
    "show": Command("a flow's steps, or a run's", _show_arguments, _show),
    "start": Command("begin a run of a flow", _start_arguments, _start),
    "status": Command("runs and how they stand", _status_arguments, _status),
    "resume": Command("go on with a run that is parked or paused", _run_argument, _resume),
    "cancel": Command("end a run and what it started", _cancel_arguments, _cancel),
    "journal": Command("a run's journal as JSON lines", _run_argument, _journal),
}
