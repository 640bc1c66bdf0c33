"""`hookline dep`: dependencies between tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import next_step, say, say_json
from hookline.tasks import dependencies

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.tasks import Edge


def _two(p: ArgumentParser) -> None:
    p.add_argument("source", metavar="FROM", help="the task that waits")
    p.add_argument("target", metavar="TO", help="the task that it waits for")


def _add(args: Namespace) -> None:
    with writing() as app:
        edge = app.change(dependencies.link, args.source, args.target)
        if args.json:
            say_json(_edge(edge))
        else:
            say(f"{edge.from_id} now depends on {edge.to_id}")
            next_step("hookline task graph")


def _remove(args: Namespace) -> None:
    with writing() as app:
        edge = app.change(dependencies.unlink, args.source, args.target)
        if args.json:
            say_json(_edge(edge))
        else:
            say(f"{edge.from_id} no longer depends on {edge.to_id}")


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("id", nargs="?", help="only the edges of this task")


def _list(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        if args.id:
            task = view.graph.task(args.id)
            edges = view.graph.edges_from(task.id) + view.graph.edges_to(task.id)
        else:
            edges = view.graph.edges()
    if args.json:
        say_json([_edge(edge) for edge in edges])
        return
    for edge in edges:
        say(f"{edge.from_id} {edge.type.replace('_', ' ')} {edge.to_id}")
    if not edges:
        say("no edges")


def _edge(edge: Edge) -> dict[str, str]:
    return {
        "edgeId": edge.id,
        "fromId": edge.from_id,
        "toId": edge.to_id,
        "edgeType": edge.type,
    }


DEP_COMMANDS = {
    "add": Command("let FROM depend on TO", _two, _add),
    "remove": Command("let FROM no longer depend on TO", _two, _remove),
    "list": Command("all edges, or those of one task", _list_arguments, _list),
}
