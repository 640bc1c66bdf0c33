"""The plan that a session's agent made: shown before the work on it begins."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from hookline.domain import drawing
from hookline.domain.tasks import DEPENDS_ON
from hookline.flows.session_verbs import tasks_below
from hookline.surfaces.cli.live_text import plural
from hookline.surfaces.cli.output import note, paint, say, say_json
from hookline.surfaces.cli.session_facts import PLANNED, resume_command

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.ports.store import View
    from hookline.surfaces.cli.session_facts import Facts


def tell_plan(args: Namespace, view: View, known: Facts) -> None:
    """Show the tasks that a session has planned, and how they are changed; else nothing."""
    if known.reason != PLANNED:
        return
    tasks = tasks_below(view, known.task_id)
    kept = {task.id for task in tasks}
    edges = [
        edge
        for task in tasks
        for edge in view.graph.edges_from(task.id, DEPENDS_ON)
        if edge.to_id in kept
    ]
    if args.json:
        told = {"session": known.name, "taskId": known.task_id, "tasks": tasks, "edges": edges}
        say_json({"type": "session_planned", "data": {**told, "next": resume_command(known)}})
        return
    say(f"{paint('planned', 'green')}: {plural(len(tasks), 'task')}")
    width = shutil.get_terminal_size((100, 24)).columns
    for line in drawing.terminal(tasks, edges, width=width, style=paint):
        say(line)
    note(
        f"change it with `hookline task add GOAL --parent {known.task_id}`, `task update`,"
        " `task cancel`, `dep add` and `dep remove`"
    )
