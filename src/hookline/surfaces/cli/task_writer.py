"""Who writes to a task from the command line, and what an agent may not write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.domain.tasks import task_number
from hookline.surfaces.cli.output import note, paint, untrusted
from hookline.tasks.verbs import Holder
from hookline.trust import under_agent

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection

    from hookline.app import App
    from hookline.domain.tasks import Task


def writer(
    app: App, args: Namespace, verb: str, changes: Collection[str] = (), *, own: bool = False
) -> Holder:
    """Who writes; an agent does not to work that a session or gates judge, but for its `own`."""
    if under_agent(app.environ):
        from hookline.flows.judged_work import refuse_verdict  # only agents need it

        place = app.session if own else None
        if place is None or task_number(args.id) != task_number(place.task_id):
            with app.read() as view:
                refuse_verdict(view, view.graph.task(args.id), verb, changes)
    return app.holder if args.token is None else Holder(token=args.token)


def warn_of_type(args: Namespace, app: App, *tasks: Task) -> None:
    """Tell a person about each type that is not configured although others are."""
    if args.json:
        return
    for kind in dict.fromkeys(task.type for task in tasks):
        if problem := app.types.unknown(kind):
            note(f"{paint('warning', 'yellow', sys.stderr)}: {untrusted(problem, 300)}")


def has_gates(app: App, identifier: str) -> bool:
    """Whether a task's work is only done when it is merged."""
    if app.settings is None:
        return False
    from hookline.config.pipeline import is_done_by_merge  # nothing is, where nothing is set

    place = app.session
    with app.read() as view:
        return is_done_by_merge(
            *(app.settings, app.project.folder, view, view.graph.task(identifier)),
            place.task_id if place else None,
        )
