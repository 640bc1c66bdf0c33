"""`hookline effect`: look at the effects of a run, carry one out, post a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.runs.model import ERROR, OK, Resolution, effect_key
from hookline.errors import BadInput
from hookline.operations.runs import post
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.flows.show import effect_json, effect_line
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, next_step, report, say_json, untrusted
from hookline.surfaces.cli.values import parse_json, read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _list_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("--pending", action="store_true", help="only effects without a result")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        run = view.runs.find(args.run)
        found = view.runs.pending(run) if args.pending else view.runs.effects(run)
    keys = [{"idempotencyKey": effect_key(app.store.id, run, e.effect_id)} for e in found]
    nothing = f"{run.run_id} has no {'pending ' if args.pending else ''}effects"
    lines = [effect_line(effect) for effect in found] or [nothing]
    answer(args, [effect_json(e) | key for e, key in zip(found, keys, strict=True)], *lines)


def _effect_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("effect", help="the effect's id, as `effect list` shows it")


def _run(args: Namespace) -> int:
    # Brings in the engine, which a post does without.
    from hookline.surfaces.cli.flows.watch import carry_out

    return carry_out(args)


def _post_arguments(p: ArgumentParser) -> None:
    _effect_arguments(p)
    p.add_argument("--status", choices=(OK, ERROR), required=True, help="how it ended")
    p.add_argument("--value", metavar="JSON", help="the result (default: null)")
    p.add_argument("--value-file", metavar="F", help="a file with the result; - is stdin")
    p.add_argument("--error", metavar="TEXT", help="what went wrong")


def _post(args: Namespace) -> None:
    resolution = Resolution(args.status, _value(args), _error(args))
    with writing() as app:
        run = post(app, args.run, args.effect, resolution)
        if args.json:
            say_json({"runId": run.run_id, "effectId": args.effect, "status": args.status})
            return
        report(f"{run.run_id}: {untrusted(args.effect)} is {args.status}")
        next_step(f"hookline orchestrate {run.run_id}")


def _value(args: Namespace) -> Any:
    if args.value is not None and args.value_file is not None:
        raise BadInput("give --value or --value-file, not both")
    if args.value_file is not None:
        return parse_json(read_text(args.value_file), args.value_file)
    return None if args.value is None else parse_json(args.value, "--value")


def _error(args: Namespace) -> str | None:
    if args.error is not None and args.status == OK:
        raise BadInput("--error goes with --status error")
    return args.error or ("failed" if args.status == ERROR else None)


EFFECT_COMMANDS = {
    "list": Command("list the effects of a run, in order", _list_arguments, _list),
    "run": Command("run an effect and post its result", _effect_arguments, _run),
    "post": Command("post the result of an effect", _post_arguments, _post),
}
