"""`hookline task`: the verbs of the task graph on the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.tasks import DEFAULT_PRIORITY, OPEN, STATES
from hookline.errors import BadInput
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import columns, next_step, paint, say, say_json, say_row
from hookline.surfaces.cli.show import TASK_HANG, show_task, task_line
from hookline.surfaces.cli.task_work import (
    WORK_COMMANDS,
    answer,
    changes_argument,
    given_changes,
    one_task,
)
from hookline.surfaces.cli.task_writer import warn_of_type
from hookline.surfaces.cli.values import read_text
from hookline.tasks import verbs

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.tasks import Task


# add


def _add_arguments(p: ArgumentParser) -> None:
    p.add_argument("goal", nargs="?", help="what should be achieved")
    p.add_argument("--from", dest="source", metavar="FILE", help="many tasks; `-` is stdin")
    p.add_argument("--label", action="append", default=[], metavar="L", help="repeatable")
    p.add_argument("--deliverable", action="append", default=[], metavar="D", help="repeatable")
    p.add_argument(
        "--priority", type=int, default=DEFAULT_PRIORITY, metavar="N", help="0 is first (default 2)"
    )
    p.add_argument("--type", metavar="T", help="the task's type")
    p.add_argument("--depends-on", action="append", default=[], metavar="ID", help="repeatable")
    p.add_argument("--parent", metavar="ID", help="the task that this one came from")
    p.add_argument("--note", action="append", default=[], metavar="TEXT", help="repeatable")
    changes_argument(p)


def _add(args: Namespace) -> None:
    if args.source or args.goal == "-":
        _add_many(args)
        return
    if args.goal is None:
        raise BadInput("what is the task? Give a goal, or --from FILE")
    with writing() as app:
        task = app.change(
            verbs.add,
            args.goal,
            deliverables=args.deliverable,
            labels=args.label,
            priority=args.priority,
            task_type=args.type,
            depends_on=args.depends_on,
            parent=args.parent,
            notes=args.note,
            changes=given_changes(args, "task add"),
            types=app.types,
        )
        answer(args, task, "added")
        warn_of_type(args, app, task)
        next_step(
            f"hookline task start {task.id}" if task.state == "ready" else "hookline task graph"
        )


def _add_many(args: Namespace) -> None:
    from hookline.domain.taskfile import parse  # only this way of adding needs it
    from hookline.tasks.batch import add_all

    name = args.source or "-"
    text = read_text(name)
    with writing() as app:
        with app.read() as view:
            shown = "stdin" if name == "-" else name
            specs = parse(text, name=shown, is_task=lambda each: view.graph.find(each) is not None)
        tasks = app.change(add_all, specs, types=app.types)
        if args.json:
            say_json(tasks)
            return
        for task in tasks:
            say_row(task_line(task), TASK_HANG)
        warn_of_type(args, app, *tasks)
        next_step("hookline task ready")


# looking


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--state", action="append", choices=STATES, help="repeatable")
    p.add_argument("--all", action="store_true", help="finished tasks too")
    p.add_argument("--label", metavar="L", help="only tasks with this label")
    p.add_argument("--type", metavar="T", help="only tasks of this type")
    p.add_argument("--limit", type=int, default=-1, metavar="N", help="at most so many")


def _list(args: Namespace) -> None:
    states = args.state or (STATES if args.all else OPEN)
    chosen = {"label": args.label, "task_type": args.type}
    nothing = "no tasks; `hookline task add GOAL` makes one"
    with reading() as app, app.read() as view:
        tasks = view.graph.tasks(states=states, limit=args.limit, **chosen)
        if states == OPEN and not tasks and view.graph.tasks(states=STATES, limit=1, **chosen):
            nothing = "no open tasks; `hookline task list --all` shows the finished ones too"
    _answer_many(args, tasks, nothing)


def _show(args: Namespace) -> None:
    from hookline.adapters.blobs import FileBlobs  # only this verb tells costs and reviews
    from hookline.flows.judgements import judgements
    from hookline.flows.spending import cost_of, turns_of
    from hookline.surfaces.cli.cost_show import cost_lines
    from hookline.surfaces.cli.gate_show import review_lines
    from hookline.surfaces.cli.task_standing import standing

    with reading() as app, app.read() as view:
        task = view.graph.task(args.id)
        cost = cost_of(turns_of(view, task.id))
        waits = standing(app, view, task)
        if args.json:
            say_json({**msgspec.to_builtins(task), "cost": cost, "waits": waits})
            return
        dependents = [e.from_id for e in view.graph.edges_to(task.id, "depends_on")]
        events = view.log.events(node_id=task.id)
        found = judgements(view, task.id, FileBlobs(app.project.blobs))
        review = review_lines(found[-1]) if found and waits is not None else []
        show_task(task, dependents, events, cost_lines(cost), waits, review)
    if waits is not None:
        next_step(waits.command)


def _ready_arguments(p: ArgumentParser) -> None:
    p.add_argument("--limit", type=int, default=20, metavar="N", help="default 20")


def _ready(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        tasks = view.graph.ready(args.limit, app.store.now())
    _answer_many(args, tasks, "nothing is ready; `hookline task list` shows what waits")


def _graph_arguments(p: ArgumentParser) -> None:
    formats = ("terminal", "mermaid", "dot")
    p.add_argument("--format", choices=formats, default="terminal", help="how it is drawn")
    p.add_argument("--open", action="store_true", help="leave finished tasks out")


def _graph(args: Namespace) -> None:
    from hookline.domain import drawing  # only the graph needs it

    with reading() as app, app.read() as view:
        tasks = view.graph.tasks(states=OPEN if args.open else STATES)
        kept = {task.id for task in tasks}
        edges = [e for e in view.graph.edges() if e.from_id in kept and e.to_id in kept]
    if args.json:
        say_json({"tasks": tasks, "edges": edges})
    elif args.format == "terminal":
        width = columns() if sys.stdout.isatty() else 100
        for line in drawing.terminal(tasks, edges, width=width, style=paint):
            say(line)
    else:
        say(getattr(drawing, args.format)(tasks, edges))


def _answer_many(args: Namespace, tasks: list[Task], empty: str) -> None:
    if args.json:
        say_json(tasks)
        return
    for task in tasks:
        say_row(task_line(task), TASK_HANG)
    if not tasks:
        say(empty)


TASK_COMMANDS = {
    "add": Command("add a task, or many with --from", _add_arguments, _add),
    "list": Command("tasks that are not finished, or --all", _list_arguments, _list),
    "show": Command("everything about one task", one_task, _show),
    "ready": Command("tasks that can be worked on, best first", _ready_arguments, _ready),
    **WORK_COMMANDS,
    "graph": Command("draw the graph: terminal, mermaid or dot", _graph_arguments, _graph),
}
