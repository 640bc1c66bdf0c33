"""`hookline task`: the verbs of the task graph on the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.tasks import DEFAULT_PRIORITY, OPEN, STATES
from hookline.errors import BadInput
from hookline.surfaces.cli.command import Command, task_argument
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, answer_rows, columns, next_step, paint, say
from hookline.surfaces.cli.tasks import taking
from hookline.surfaces.cli.tasks.show import TASK_HANG, show_task, task_line
from hookline.surfaces.cli.values import read_text, typed_within
from hookline.tasks import verbs

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


# add


def _add_arguments(p: ArgumentParser) -> None:
    p.add_argument("goal", nargs="?", help="what the task should achieve")
    p.add_argument(
        "--from", dest="source", metavar="FILE", help="add the tasks in this file; `-` is stdin"
    )
    p.add_argument("--label", action="append", default=[], metavar="L", help="repeatable")
    p.add_argument("--deliverable", action="append", default=[], metavar="D", help="repeatable")
    help = "0 is first (default 2)"
    p.add_argument("--priority", type=int, default=DEFAULT_PRIORITY, metavar="N", help=help)
    p.add_argument("--type", metavar="T", help="the task's type")
    p.add_argument("--depends-on", action="append", default=[], metavar="ID", help="repeatable")
    p.add_argument("--parent", metavar="ID", help="the task that this one is a part of")
    p.add_argument("--note", action="append", default=[], metavar="TEXT", help="repeatable")
    taking.changes_argument(p)


def _add(args: Namespace) -> None:
    if args.source or args.goal == "-":
        _add_many(args)
        return
    if args.goal is None:
        help = 'such as: hookline task add "Write the parser"'
        raise BadInput("pass a goal, or --from FILE", help=help)
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
            changes=taking.given_changes(args, "task add"),
            types=app.types,
        )
        taking.answer_task(args, task, "added")
        taking.warn_of_type(app, task)
        start = f"hookline task start {task.id}"
        next_step(start if task.state == "ready" else "hookline task graph")


def _add_many(args: Namespace) -> None:
    from hookline.domain.pages.taskfile import parse  # only this way of adding needs these
    from hookline.tasks.batch import add_all

    name = args.source or "-"
    text = read_text(name)
    with writing() as app:
        with app.read() as view:
            shown = "stdin" if name == "-" else name
            specs = parse(text, name=shown, is_task=lambda each: view.graph.find(each) is not None)
        tasks = app.change(add_all, typed_within(text, specs), types=app.types)
        if answer_rows(args, tasks, task_line, "", hang=TASK_HANG):
            taking.warn_of_type(app, *tasks)
            next_step("hookline task ready")


# looking


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--state", action="append", choices=STATES, help="repeatable")
    p.add_argument("--all", action="store_true", help="include finished tasks")
    p.add_argument("--label", metavar="L", help="only tasks with this label")
    p.add_argument("--type", metavar="T", help="only tasks of this type")
    p.add_argument(
        "--limit", type=int, default=-1, metavar="N", help="how many to show (default: all)"
    )


def _list(args: Namespace) -> None:
    states = args.state or (STATES if args.all else OPEN)
    chosen = {"label": args.label, "task_type": args.type}
    nothing = "no tasks; `hookline task add GOAL` adds one"
    with reading() as app, app.read() as view:
        tasks = view.graph.tasks(states=states, limit=args.limit, **chosen)
        if states == OPEN and not tasks and view.graph.tasks(states=STATES, limit=1, **chosen):
            nothing = "no open tasks; `hookline task list --all` shows the finished ones too"
    answer_rows(args, tasks, task_line, nothing, hang=TASK_HANG)


def _show_arguments(p: ArgumentParser) -> None:
    task_argument(p, "id")


def _show(args: Namespace) -> None:
    from hookline.pipeline.gate_reviews import (
        gate_reviews,
    )  # only this verb tells costs and reviews
    from hookline.queries.blockers import blocker
    from hookline.sessions.spending import cost_of, turns_of
    from hookline.surfaces.cli.gates.show import review_lines
    from hookline.surfaces.cli.work.costs import cost_lines

    with reading() as app, app.read() as view:
        task = view.graph.task(args.id)
        cost = cost_of(turns_of(view, task.id))
        waits = blocker(app, view, task)
        if not answer(args, {**msgspec.to_builtins(task), "cost": cost, "waits": waits}):
            return
        dependents = [e.from_id for e in view.graph.edges_to(task.id, "depends_on")]
        events = view.log.events(node_id=task.id)
        found = gate_reviews(view, task.id, app.blobs)
        review = review_lines(found[-1]) if found and waits is not None else []
        show_task(task, dependents, events, cost_lines(cost), waits, review)
    if waits is not None:
        next_step(waits.command)


def _ready_arguments(p: ArgumentParser) -> None:
    p.add_argument(
        "--limit", type=int, default=20, metavar="N", help="how many to show (default 20)"
    )


def _ready(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        tasks = view.graph.ready(args.limit, app.store.now())
    nothing = "nothing is ready; `hookline task list` shows what waits"
    answer_rows(args, tasks, task_line, nothing, hang=TASK_HANG)


def _graph_arguments(p: ArgumentParser) -> None:
    formats = ("terminal", "mermaid", "dot")
    p.add_argument("--format", choices=formats, default="terminal", help="the output format")
    p.add_argument("--open", action="store_true", help="leave out finished tasks")


def _graph(args: Namespace) -> None:
    from hookline.domain.pages import drawing  # only the graph needs it

    with reading() as app, app.read() as view:
        tasks = view.graph.tasks(states=OPEN if args.open else STATES)
        kept = {task.id for task in tasks}
        edges = [e for e in view.graph.edges() if e.from_id in kept and e.to_id in kept]
    if not answer(args, {"tasks": tasks, "edges": edges}):
        return
    if args.format == "terminal" and not tasks:
        say("no tasks; `hookline task add GOAL` adds one")
    elif args.format == "terminal":
        width = columns() if sys.stdout.isatty() else 100
        for line in drawing.terminal(tasks, edges, width=width, style=paint):
            say(line)
    else:
        say(getattr(drawing, args.format)(tasks, edges))


TASK_COMMANDS = {
    "add": Command("add a task, or many with --from", _add_arguments, _add),
    "list": Command("list open tasks; --all includes finished ones", _list_arguments, _list),
    "show": Command("show one task", _show_arguments, _show),
    "ready": Command("list ready tasks, best first", _ready_arguments, _ready),
    **taking.WORK_COMMANDS,
    "graph": Command("draw the graph: terminal, mermaid or dot", _graph_arguments, _graph),
}
