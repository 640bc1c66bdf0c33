"""Moving a project's store: everything is copied and verified, or nothing."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.store_urls import shown_url
from hookline.errors import BadInput, StoreCorrupt
from hookline.project import user_folder
from hookline.queries.doctor.store import broken
from hookline.wiring.project.copies import (
    copy_blobs,
    copy_rows,
    is_at_work,
    keep_place,
    note_worktrees,
    open_side,
    url_of,
)
from hookline.wiring.project.stores import is_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.ports.store import View
    from hookline.project import Project


class Copied(msgspec.Struct, frozen=True, rename="camel"):
    """What was copied, and where everything is now."""

    source: str
    target: str
    events: int
    tasks: int
    runs: int
    blobs: int


def copy_store(project: Project, environ: Mapping[str, str], source: str, target: str) -> Copied:
    """Copy a project's store, and use the copy from now on."""
    old_url, new_url = url_of(project, source), url_of(project, target)
    if old_url == new_url:
        raise BadInput("a store cannot be copied onto itself")
    with ExitStack() as opened:
        old = opened.enter_context(closing(open_side(project, old_url, read_only=True)))
        with old.read() as view:
            if is_at_work(project, view):
                raise BadInput(
                    "a process works with this store: what it stores would be lost",
                    help="stop the workers first: `hookline stop --all`",
                )
        new = opened.enter_context(closing(open_side(project, new_url, read_only=False)))
        blobs = copy_blobs(project, old, new)
        rows = copy_rows(old, new, _verify)
        if not is_here(new):
            note_worktrees(project, environ, new)
        keep_place(user_folder(environ), project, new)
    return Copied(
        source=shown_url(source),
        target=shown_url(target),
        events=rows["events"],
        tasks=rows["tasks"],
        runs=rows["runs"],
        blobs=blobs,
    )


def _verify(view: View) -> None:
    if found := broken(view):
        raise StoreCorrupt(
            f"the copy is not what the log says ({found[0].message}): nothing was changed",
            help="`hookline doctor` shows what is wrong with the store",
        )
