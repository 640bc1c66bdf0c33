"""`hookline checkpoint`: where an agent stood in a task, to look at or to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import BadInput
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import next_step, paint, printable, say, say_json, untrusted
from hookline.surfaces.cli.values import duration, parse_json, read_text
from hookline.tasks import checkpoints

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.tasks.checkpoints import Checkpoint


def _create_arguments(p: ArgumentParser) -> None:
    p.add_argument("task", metavar="TASK", help="the task, such as T-12")
    p.add_argument("--phase", metavar="P", help="what the agent is doing, such as testing")
    p.add_argument("--step", metavar="S", help="how far it is")
    p.add_argument("--context", default="{}", metavar="JSON", help="what it must know to go on")
    p.add_argument("--draft", metavar="FILE", help="unfinished work; `-` is stdin")
    p.add_argument("--expires-in", default="7d", metavar="T", help="default 7d")


def _create(args: Namespace) -> None:
    context: Any = parse_json(args.context, "--context")
    if not isinstance(context, dict):
        raise BadInput("--context must be a JSON object")
    standing = checkpoints.Standing(
        execution_phase=args.phase,
        execution_step=args.step,
        agent_context=context,
        draft_content=read_text(args.draft) if args.draft else None,
        expires_in_minutes=duration(args.expires_in) / 60,
    )
    with writing() as app:
        made = app.change(checkpoints.create, args.task, standing)
        _answer(args, made)
        next_step(f"hookline checkpoint resume {made.id}")


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("task", metavar="TASK", help="the task, such as T-12")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task).id
        found = checkpoints.listed(view.log, task, app.store.now())
    if args.json:
        say_json(found)
        return
    for each in found:
        say(_line(each))
    if not found:
        say(f"no checkpoints of {task}")


def _one(p: ArgumentParser) -> None:
    p.add_argument("id", help="the checkpoint, such as CP-40")


def _get(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        found = checkpoints.get(view.log, args.id, app.store.now())
    _answer(args, found, whole=True)


def _resume(args: Namespace) -> None:
    with writing() as app:
        found = app.change(checkpoints.resume, args.id)
        _answer(args, found, whole=True)
        next_step(f"hookline task show {found.task_id}")


def _answer(args: Namespace, found: Checkpoint, *, whole: bool = False) -> None:
    if args.json:
        say_json(found)
        return
    say(_line(found))
    if not whole:
        return
    for name, value in found.agent_context.items():
        say(f"  {untrusted(str(name))}: {untrusted(msgspec.json.encode(value).decode())}")
    for line in (found.draft_content or "").splitlines():
        say(f"  {paint('│', 'dim')} {printable(line)}")


def _line(found: Checkpoint) -> str:
    where = " ".join(str(part) for part in (found.execution_phase, found.execution_step) if part)
    ends = "expired" if found.expired else f"until {found.expires_at}"
    head = f"{found.id:6} {found.task_id}"
    return f"{paint(head, 'dim')}  {untrusted(where) or '(no phase)'}  {paint(ends, 'dim')}"


CHECKPOINT_COMMANDS = {
    "create": Command("keep where a task stands", _create_arguments, _create),
    "list": Command("the checkpoints of a task", _list_arguments, _list),
    "get": Command("a whole checkpoint", _one, _get),
    "resume": Command("go on from a checkpoint; expired ones are refused", _one, _resume),
}
