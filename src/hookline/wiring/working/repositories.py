"""The project's git repository, with what it needs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.git.work import GitWork
from hookline.adapters.processes.process import LocalProcesses
from hookline.tasks.work_record import base_of, pinned_base
from hookline.wiring.project.clones import own_name
from hookline.wiring.project.configured import is_trusted
from hookline.wiring.project.stores import is_here

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.processes import Processes
    from hookline.ports.repository import Repository


def git_processes(app: App) -> Processes:
    """What starts git: names, hashes and diffs are not cleaned.

    A file is locked until a git that was left behind has ended. Other hosts cannot see it.
    """
    reaper = None if is_here(app.store) else app.reaper
    return LocalProcesses(app.project.blobs, app.cleaner, exact=True, reaper=reaper)


def repository(app: App) -> Repository:
    """The project's repository."""
    gates = app.sections.gates
    with app.read() as view:
        pinned = pinned_base(view)
    return GitRepository(
        git_processes(app),
        app.project.root,
        app.project.folder,
        app.environ,
        base=gates.base or (pinned.branch if pinned else None),
        unborn=not gates.base and pinned is not None and pinned.unborn,
        remote=gates.remote,
        trusted=is_trusted(app),
        hooks_before=lambda: _hooks_before(app),
        begun_on=lambda task_id: _begun_on(app, task_id),
        clean=app.cleaner.text,
    )


def _hooks_before(app: App) -> list[dict[str, str]]:
    from hookline.sessions.git_control import hooks_before  # only changed hooks of git need it

    with app.read() as view:
        return hooks_before(view, own_name(app))


def _begun_on(app: App, task_id: str) -> str | None:
    with app.read() as view:
        return base_of(view, task_id)


def git_work(app: App) -> GitWork:
    """The changes to the files of the project and its worktrees."""
    objects = os.path.join(app.project.folder, "objects")
    return GitWork(git_processes(app), app.environ, objects, trusted=is_trusted(app))
