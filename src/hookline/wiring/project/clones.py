"""The clones of a project that share its store: which one this is, and what others have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import host_name
from hookline.project import user_folder
from hookline.wiring.project.stores import is_here, is_kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.domain.work.places import WorkPlace
    from hookline.project import Project


def clone_name(project: Project, environ: Mapping[str, str]) -> str:
    """The name of this clone of the project among all that share its store."""
    return f"{host_name(user_folder(environ))}:{os.path.realpath(project.root)}"


def own_name(app: App) -> str:
    """The name of this clone, if others can share its store; else nothing."""
    return clone_name(app.project, app.environ) if is_shared(app) else ""


def is_shared(app: App) -> bool:
    """Whether other clones can share the store."""
    return is_kept(app.store) and not is_here(app.store)


def work_elsewhere(app: App) -> dict[str, WorkPlace]:
    """The work on tasks that another clone has, by task."""
    if not is_shared(app):
        return {}
    own = own_name(app)
    with app.read() as view:
        found = view.work_places.all()
    return {task_id: place for task_id, place in found.items() if place.holder != own}
