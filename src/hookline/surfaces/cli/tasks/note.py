"""`hookline note`: what agents and people leave for whoever works here next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.command import Command, task_argument
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, answer_rows, next_step, paint, untrusted
from hookline.surfaces.cli.values import read_text
from hookline.tasks import notes

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.tasks.notes import Note


def _add_arguments(p: ArgumentParser) -> None:
    p.add_argument("text", help="the note; `-` reads stdin")
    p.add_argument("--kind", choices=notes.KINDS, default="learning", help="default learning")
    task_argument(p, "--task", metavar="ID", help="the task it is about (default: all tasks)")


def _add(args: Namespace) -> None:
    text = read_text("-") if args.text == "-" else args.text
    with writing() as app:
        made = app.change(notes.add, args.kind, text, task=args.task)
        if answer(args, made, _line(made)):
            next_step("hookline note list")


def _list_arguments(p: ArgumentParser) -> None:
    task_argument(
        p, "--task", metavar="ID", help="only notes of this task, and those for all tasks"
    )
    p.add_argument("--kind", choices=notes.KINDS, help="only this kind")
    p.add_argument(
        "--limit", type=int, default=50, metavar="N", help="how many to show (default 50)"
    )


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task).id if args.task else None
        found = notes.listed(view.log, task=task, kind=args.kind, limit=args.limit)
    nothing = "no notes; `hookline note add TEXT` adds one"
    answer_rows(args, found, _line, nothing, hang=17)


def _line(note: Note) -> str:
    about = f" {note.task_id}" if note.task_id else ""
    head = f"{note.id:6} {note.kind:8}{about}"
    return f"{paint(head, 'dim')}  {untrusted(note.text, 400)}"


NOTE_COMMANDS = {
    "add": Command("add a note for later iterations", _add_arguments, _add),
    "list": Command("list the newest notes", _list_arguments, _list),
}
