"""`hookline dep`: dependencies between tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.command import Command, task_argument
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, next_step
from hookline.tasks import verbs

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.tasks import Edge


def _two(p: ArgumentParser) -> None:
    task_argument(p, "source", metavar="FROM", help="the task that waits")
    task_argument(p, "target", metavar="TO", help="the task that it waits for")


def _add(args: Namespace) -> None:
    with writing() as app:
        edge = app.change(verbs.link, args.source, args.target)
        if answer(args, _edge(edge), f"{edge.from_id} now depends on {edge.to_id}"):
            next_step("hookline task graph")


def _remove(args: Namespace) -> None:
    with writing() as app:
        edge = app.change(verbs.unlink, args.source, args.target)
        answer(args, _edge(edge), f"{edge.from_id} no longer depends on {edge.to_id}")


def _list_arguments(p: ArgumentParser) -> None:
    task_argument(p, "id", nargs="?", help="only the edges of this task")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        if args.id:
            task = view.graph.task(args.id)
            edges = view.graph.edges_from(task.id) + view.graph.edges_to(task.id)
        else:
            edges = view.graph.edges()
    lines = [f"{e.from_id} {e.type.replace('_', ' ')} {e.to_id}" for e in edges]
    answer(
        args,
        [_edge(edge) for edge in edges],
        *(lines or ["no dependencies; `hookline dep add FROM TO` adds one"]),
    )


def _edge(edge: Edge) -> dict[str, str]:
    return {"edgeId": edge.id, "fromId": edge.from_id, "toId": edge.to_id, "edgeType": edge.type}


DEP_COMMANDS = {
    "add": Command("make FROM depend on TO", _two, _add),
    "remove": Command("remove the dependency of FROM on TO", _two, _remove),
    "list": Command("list all edges, or those of one task", _list_arguments, _list),
}
