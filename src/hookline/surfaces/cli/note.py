"""`hookline note`: what agents and people write down for whoever works here next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import next_step, paint, say, say_json, say_row, untrusted
from hookline.surfaces.cli.values import read_text
from hookline.tasks import notes

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.tasks.notes import Note


def _add_arguments(p: ArgumentParser) -> None:
    p.add_argument("text", help="what to remember; `-` reads stdin")
    p.add_argument("--kind", choices=notes.KINDS, default="learning", help="default learning")
    p.add_argument("--task", metavar="ID", help="the task it is about (default: all)")


def _add(args: Namespace) -> None:
    text = read_text("-") if args.text == "-" else args.text
    with writing() as app:
        made = app.change(notes.add, args.kind, text, task=args.task)
        if args.json:
            say_json(made)
        else:
            say(_line(made))
            next_step("hookline note list")


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--task", metavar="ID", help="the notes of a task, and those for all")
    p.add_argument("--kind", choices=notes.KINDS, help="only this kind")
    p.add_argument("--limit", type=int, default=50, metavar="N", help="the newest (default 50)")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        task = view.graph.task(args.task).id if args.task else None
        found = notes.listed(view.log, task=task, kind=args.kind, limit=args.limit)
    if args.json:
        say_json(found)
        return
    for each in found:
        say_row(_line(each), 17)
    if not found:
        say("no notes; `hookline note add TEXT` writes one down")


def _line(note: Note) -> str:
    about = f" {note.task_id}" if note.task_id else ""
    head = f"{note.id:6} {note.kind:8}{about}"
    return f"{paint(head, 'dim')}  {untrusted(note.text, 400)}"


NOTE_COMMANDS = {
    "add": Command("write down what the next one should know", _add_arguments, _add),
    "list": Command("the newest notes", _list_arguments, _list),
}
