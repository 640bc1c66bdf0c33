"""The two sides of a copy of a store: how they are opened, and what is not in tables."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from hookline.adapters.store import copying
from hookline.adapters.store.store import TableStore
from hookline.domain.store_urls import EMBEDDED, project_name, read_store_url, with_project
from hookline.domain.tasks import is_task_id
from hookline.domain.work.places import WorkPlace
from hookline.errors import BadInput
from hookline.files import keep_private
from hookline.trust.stores import adopt_store
from hookline.wiring.project.clones import clone_name
from hookline.wiring.project.stores import open_blobs, open_store, prepare_folder
from hookline.wiring.running.hosts import is_held, served_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.ports.store import Store, View
    from hookline.project import Project


def url_of(project: Project, name: str) -> str:
    """The whole URL of a side: what is not said of the project is filled in."""
    if name == EMBEDDED:
        return project.store_url
    return with_project(name, project_name(os.path.basename(project.root)))


def open_side(project: Project, url: str, *, read_only: bool) -> Store:
    """A store of the project; one that is written to is made if it is not there."""
    if url == project.store_url:
        if read_only and not os.path.exists(project.database):
            raise BadInput("there is no store in .hookline/ to copy")
        prepare_folder(project.folder)
    return open_store(url, read_only=read_only)


def is_at_work(project: Project, view: View) -> bool:
    """Whether a process holds anything of a store."""
    runs = view.runs.leases
    leases = [runs.holder(run_id)[::2] for run_id, _, _ in runs.holders()]
    leases += [(owner, until) for _, owner, until in view.dispatches.leases()]
    return bool(served_runs(project.folder)) or any(is_held(view, *each) for each in leases)


def copy_rows(source: Store, target: Store, verify: Callable[[View], None]) -> dict[str, int]:
    """Copy everything that the tables hold."""
    assert isinstance(source, TableStore)
    assert isinstance(target, TableStore)
    return copying.copy_rows(source, target, verify)


def copy_blobs(project: Project, source: Store, target: Store) -> int:
    """Copy the large values; who copies again copies none twice."""
    with closing(open_blobs(project, source)) as old, closing(open_blobs(project, target)) as new:
        names = old.names()
        for name in names:
            new.put(old.get(name))
    return len(names)


def note_worktrees(project: Project, environ: Mapping[str, str], store: Store) -> None:
    """Note for other clones which work is in this one."""
    folder, own = os.path.join(project.folder, "worktrees"), clone_name(project, environ)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    with store.write({}) as tx:
        for name in filter(is_task_id, names):
            tx.work_places.set(name, WorkPlace(holder=own))


def keep_place(home: str, project: Project, store: Store) -> None:
    """Remember where the store of the project is from now on."""
    if store.url == project.store_url:
        keep_private(project.folder)
        adopt_store(home, project, store.id)
    else:
        adopt_store(home, project, store.id, read_store_url(store.url).shown)
