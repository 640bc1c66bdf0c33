"""`hookline checkpoint`: where an agent was in a task, to look at or to continue from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.timestamps import duration
from hookline.surfaces.cli.command import Command, task_argument
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, answer_rows, next_step, paint, printable, untrusted
from hookline.surfaces.cli.values import parse_object, read_text
from hookline.tasks import checkpoints

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.tasks.checkpoints import Checkpoint


def _create_arguments(p: ArgumentParser) -> None:
    _list_arguments(p)
    p.add_argument("--phase", metavar="P", help="what the agent is doing, such as testing")
    p.add_argument("--step", metavar="S", help="the step it has reached")
    p.add_argument(
        "--context", default="{}", metavar="JSON", help="what it needs to know to continue"
    )
    p.add_argument("--draft", metavar="FILE", help="unfinished work; `-` is stdin")
    p.add_argument("--expires-in", default="7d", metavar="T", help="default 7d")


def _create(args: Namespace) -> None:
    state = checkpoints.CheckpointState(
        execution_phase=args.phase,
        execution_step=args.step,
        agent_context=parse_object(args.context, "--context"),
        draft_content=read_text(args.draft) if args.draft else None,
        expires_in_minutes=duration(args.expires_in) / 60,
    )
    with writing() as app:
        made = app.change(checkpoints.create, args.task, state)
        _answer(args, made)
        next_step(f"hookline checkpoint resume {made.id}")


def _list_arguments(p: ArgumentParser) -> None:
    task_argument(p, metavar="TASK")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task).id
        found = checkpoints.listed(view.log, task, app.store.now())
    answer_rows(args, found, _line, f"{task} has no checkpoints")


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
    lines = [_line(found)]
    for name, value in found.agent_context.items() if whole else ():
        told = untrusted(msgspec.json.encode(value).decode())
        lines.append(f"  {untrusted(str(name))}: {told}")
    draft = (found.draft_content or "").splitlines() if whole else []
    answer(args, found, *lines, *(f"  {paint('│', 'dim')} {printable(line)}" for line in draft))


def _line(found: Checkpoint) -> str:
    where = " ".join(str(part) for part in (found.execution_phase, found.execution_step) if part)
    ends = "expired" if found.expired else f"until {found.expires_at}"
    head = f"{found.id:6} {found.task_id}"
    return f"{paint(head, 'dim')}  {untrusted(where) or '(no phase)'}  {paint(ends, 'dim')}"


CHECKPOINT_COMMANDS = {
    "create": Command("save an agent's progress on a task", _create_arguments, _create),
    "list": Command("list the checkpoints of a task", _list_arguments, _list),
    "get": Command("show a checkpoint", _one, _get),
    "resume": Command("continue from a checkpoint; expired ones are refused", _one, _resume),
}
