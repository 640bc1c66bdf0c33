"""Opening the store of a project: only one that this user made or adopted is written to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.adapters.identity import owner_is_here, owner_pid
from hookline.adapters.store.sqlite import SqliteStore
from hookline.errors import StoreError, StoreOlder, StoreReadOnly, StoreReplaced, Untrusted
from hookline.files import TOP_MODE, keep_private, own_folder, publish, refuse_links

if TYPE_CHECKING:
    from hookline.adapters.store.sqlite import Identity
    from hookline.flows.adoption import Adopted
    from hookline.ports.store import View
    from hookline.project import Project

_IGNORED = b"*\n!.gitignore\n!hooks/\n!hooks/**\n!flows/\n!flows/**\n"
GONE = "the store that was here is gone, with its tasks and its log; a new one was made"


def open_store(project: Project, home: str, *, read_only: bool = False) -> SqliteStore:
    """The project's store; a new one is made for writing, a foreign one is only read."""
    refuse_links(project.folder)
    if not read_only:
        return _open_own(project, home)
    if not os.path.exists(project.database):
        return SqliteStore(":memory:")  # nothing was stored yet, so there is nothing to see
    try:
        return SqliteStore(project.database, read_only=True)
    except StoreOlder:
        _open_own(project, home).close()
        return SqliteStore(project.database, read_only=True)


def _open_own(project: Project, home: str) -> SqliteStore:
    # Commands that only read do not ask whose the store is.
    from hookline.trust.stores import adopt_store, forget_store, recorded_store

    recorded, notices = recorded_store(home, project), []
    if not os.path.exists(project.database):
        prepare_folder(project.folder)
        if recorded is not None:
            forget_store(home, project)
            recorded, notices = None, [GONE]
    store = SqliteStore(
        project.database, admit=lambda found: _refuse_foreign(project, found, recorded)
    )
    keep_private(project.folder)
    store.notices += notices
    if store.id != recorded:
        adopt_store(home, project, store.id)
    return store


def _refuse_foreign(project: Project, found: Identity, recorded: str | None) -> None:
    if found.store_id == recorded:
        return
    if recorded is not None:
        raise StoreReplaced(
            f"{project.database} is not the store that you made or adopted: it was replaced"
        )
    # An empty store of the expected shape can do no harm, wherever it came from; one whose
    # maker was killed before anything was stored is such a one.
    if not found.is_empty():
        raise Untrusted(
            f"{project.folder} was not made by you: its store can be read, not written",
            help="look at it with `hookline doctor`, then run `hookline trust`",
        )


def prepare_folder(folder: str) -> None:
    """Make `.hookline/`, with hooks and flows shared through git and all else kept out of it."""
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, TOP_MODE)
        with own_folder(folder, "logs"), own_folder(folder) as top:
            if not os.path.lexists(os.path.join(folder, ".gitignore")):
                publish(top, ".gitignore", _IGNORED)
    except OSError as problem:
        raise StoreReadOnly(f"cannot write to {folder}: {problem.strerror}") from problem


# A store that somebody else made


def store_identity(project: Project) -> str | None:
    """The id of the project's store, read without changing it; None where there is none."""
    refuse_links(project.folder)
    if not os.path.exists(project.database):
        return None
    found: list[str] = []
    SqliteStore(
        project.database,
        read_only=True,
        any_age=True,
        admit=lambda each: found.append(_with_our_schema(each)),
    ).close()
    return found[0]


def _with_our_schema(found: Identity) -> str:
    if foreign := found.foreign_objects():
        raise StoreError(
            f"the store has objects that Hookline did not make: {', '.join(foreign)}",
            help="remove .hookline/hookline.db, or restore it from a backup of your own",
        )
    return found.store_id


def unfinished_runs(project: Project) -> list[str]:
    """The runs that an adoption would cancel; an older store is not read for that."""
    from hookline.flows.adoption import unfinished

    try:
        store = SqliteStore(project.database, read_only=True)
    except StoreOlder:
        return []
    try:
        with store.read() as view:
            return [run.run_id for run in unfinished(view)]
    finally:
        store.close()


def _refuse_held(view: View) -> None:
    """A run that a process here works on is not taken from under it."""
    from hookline.flows.adoption import unfinished

    for run in unfinished(view):
        owner = view.runs.holder(run.run_id)[0]
        if owner is not None and owner_is_here(owner):
            raise StoreError(
                f"process {owner_pid(owner)} works on {run.run_id} of this store",
                help=f"stop it first (`kill {owner_pid(owner)}`), then run `hookline trust` again",
            )


def adopt(project: Project, home: str, store_id: str, metadata: dict[str, str]) -> Adopted:
    """Make a store that its user has looked at their own; nothing of it goes on by itself.

    That is in the store before it is theirs, so that a kill in between leaves nothing to run;
    and because it cannot be undone, that the store can become theirs is proved before.
    """
    from hookline.flows.adoption import adopt as adopt_contents  # seldom done
    from hookline.trust.stores import adopt_store, prove_adoptable

    def admit(found: Identity) -> None:
        if _with_our_schema(found) != store_id:
            raise StoreReplaced(f"{project.database} was replaced while it was looked at")

    prove_adoptable(home, project)
    store = SqliteStore(project.database, admit=admit)
    try:
        with store.write(dict(metadata)) as tx:
            _refuse_held(tx)
            adopted = adopt_contents(tx)
    finally:
        store.close()
    keep_private(project.folder)
    adopt_store(home, project, store_id)
    return adopted
