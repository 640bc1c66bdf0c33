"""Opening the store of a project: only one that this user created or adopted is written to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import owner_is_here, owner_pid
from hookline.adapters.store.sqlite import Identity, SqliteStore
from hookline.errors import (
    StoreAbsent,
    StoreElsewhere,
    StoreError,
    StoreOlder,
    StoreReadOnly,
    StoreReplaced,
    Untrusted,
)
from hookline.files import IGNORED, TOP_MODE, keep_private, own_folder, publish, refuse_links
from hookline.trust.stores import (
    Recorded,
    adopt_store,
    forget_store,
    owns_store,
    prove_adoptable,
    recorded,
    recorded_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.feeds import CallLog, Feeds
    from hookline.ports.store import Blobs, Store, View
    from hookline.project import Project
    from hookline.trust.adoption import Adopted
    from hookline.wiring.project.shared import SharedStore

GONE = "the store that was here is gone, with its tasks and its log; a new one was created"
REPLACED = "this is not the store that you created or adopted here: it was replaced"
NOTHING_STORED = "sqlite://:memory:"


def open_store(
    url: str,
    *,
    read_only: bool = False,
    any_age: bool = False,
    admit: Callable[[Identity], None] | None = None,
    waits: bool | None = None,
) -> Store:
    """The store at a URL; `admit` checks it before anything is written to it.

    `waits`: a server is waited for if it is away now, and not only if it goes away; False: never.
    """
    kind, found, path = url.partition("://")
    if kind != "sqlite" or not found:
        from hookline.wiring.project.servers import open_server  # few projects have one

        return open_server(url, read_only=read_only, waits=waits)
    return SqliteStore(path, read_only=read_only, any_age=any_age, admit=admit)


def open_blobs(project: Project, store: Store) -> Blobs:
    """The project's large values."""
    if not is_here(store):
        from hookline.wiring.project.servers import server_blobs

        return server_blobs(store)
    from hookline.adapters.store.blobs import FileBlobs  # few commands read or keep one

    return FileBlobs(project.blobs)


def open_outputs(project: Project) -> Blobs:
    """The whole output of programs that ran in this folder, wherever the store is."""
    from hookline.adapters.store.blobs import FileBlobs  # only pruning needs it apart

    return FileBlobs(project.blobs)


def open_feeds(project: Project, store: Store) -> Feeds:
    """The feed of the project's sessions."""
    if not is_here(store):
        from hookline.wiring.project.servers import server_feeds

        return server_feeds(project, store)
    from hookline.adapters.feeds.feed import FileFeed  # few commands watch

    return FileFeed(project.folder)


def open_call_log(project: Project) -> CallLog:
    """The log of the project's hook calls."""
    from hookline.adapters.store.call_log import FileCallLog  # reading commands record nothing

    return FileCallLog(project.hook_log)


def open_project_store(
    project: Project, home: str, *, read_only: bool = False, shared: SharedStore | None = None
) -> Store:
    """The project's store; a new one is created for writing, a foreign one is read-only."""
    refuse_links(project.folder)
    if shared is not None:
        return _open_shared(project, home, shared, read_only=read_only)
    if not read_only:
        return _open_own(project, home)
    _refuse_elsewhere(recorded(home, project))
    if not os.path.exists(project.database):
        return open_store(NOTHING_STORED)
    try:
        store = open_store(project.store_url, read_only=True)
    except StoreOlder:
        _open_own(project, home).close()
        store = open_store(project.store_url, read_only=True)
    if recorded_store(home, project) not in (None, store.id):
        store.notices.append(REPLACED)
    return store


def is_here(store: Store) -> bool:
    """Whether the store is in the project's folder, and not on a server."""
    return store.url.startswith("sqlite:")


def is_kept(store: Store) -> bool:
    """Whether there is a store; else nothing was ever stored."""
    return store.url != NOTHING_STORED


def _open_shared(project: Project, home: str, shared: SharedStore, *, read_only: bool) -> Store:
    from hookline.wiring.project.shared import open_shared  # few projects have one

    if not read_only:
        prepare_folder(project.folder)
    try:
        return open_shared(project, home, shared, read_only=read_only)
    except StoreAbsent:
        return open_store(NOTHING_STORED)
    except StoreOlder:
        open_shared(project, home, shared).close()
        return open_shared(project, home, shared, read_only=True)


def _refuse_elsewhere(known: Recorded | None) -> None:
    """What is here may be as old as the move to the server."""
    if known is not None and known.url:
        raise StoreElsewhere(
            f"the store of this project is at {known.url}, and nothing names it now",
            help="set HOOKLINE_STORE or `store:` to it; to go back, `hookline store copy` it",
        )


def _open_own(project: Project, home: str) -> Store:
    known, notices = recorded(home, project), []
    _refuse_elsewhere(known)
    before = known.store_id if known is not None else None
    prepare_folder(project.folder)
    if before is not None and not os.path.exists(project.database):
        forget_store(home, project)
        before, notices = None, [GONE]
    store = open_store(
        project.store_url, admit=lambda found: _refuse_foreign(project, home, found, before)
    )
    keep_private(project.folder)
    store.notices += notices
    if store.id != before:
        adopt_store(home, project, store.id)
    return store


def _refuse_foreign(project: Project, home: str, found: Identity, before: str | None) -> None:
    # An empty store of the expected schema is harmless, wherever it came from. A process that was
    # killed before it stored anything leaves such a store.
    if found.store_id == before or (before is None and found.is_empty()):
        return
    # Another first command may have created it meanwhile; it records that before it stores more.
    if owns_store(home, project, found.store_id):
        return
    if before is not None:
        raise StoreReplaced(f"{project.database}: {REPLACED}")
    raise Untrusted(
        f"{project.folder} was not created by you: its store is read-only",
        help="look at it with `hookline doctor`, then run `hookline trust`",
    )


def prepare_folder(folder: str) -> None:
    """Create `.hookline/`, with hooks and flows in git and everything else ignored."""
    try:
        if all(os.path.lexists(os.path.join(folder, name)) for name in (".gitignore", "logs")):
            return
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, TOP_MODE)
        with own_folder(folder, "logs"), own_folder(folder) as top:
            if not os.path.lexists(os.path.join(folder, ".gitignore")):
                publish(top, ".gitignore", IGNORED)
    except OSError as problem:
        raise StoreReadOnly(f"cannot write to {folder}: {problem.strerror}") from problem


# A store that someone else created


def store_identity(project: Project) -> str | None:
    """The id of the project's store, read without changing it; None if there is none."""
    refuse_links(project.folder)
    if not os.path.exists(project.database):
        return None
    found: list[str] = []
    open_store(
        project.store_url,
        read_only=True,
        any_age=True,
        admit=lambda each: found.append(_with_our_schema(each)),
    ).close()
    return found[0]


def _with_our_schema(found: Identity) -> str:
    if foreign := found.foreign_objects():
        raise StoreError(
            f"the store has objects that Hookline did not create: {', '.join(foreign)}",
            help="remove .hookline/hookline.db, or restore it from your own backup",
        )
    return found.store_id


def unfinished_runs(project: Project) -> list[str]:
    """The runs that an adoption would cancel; an older store is not read for that."""
    from hookline.trust.adoption import unfinished  # few stores are adopted

    try:
        store = open_store(project.store_url, read_only=True)
    except StoreOlder:
        return []
    try:
        with store.read() as view:
            return [run.run_id for run in unfinished(view)]
    finally:
        store.close()


def _refuse_held(view: View) -> None:
    """Refuse to adopt a store while a process here advances one of its runs."""
    from hookline.trust.adoption import unfinished  # few stores are adopted

    for run in unfinished(view):
        owner = view.runs.leases.holder(run.run_id)[0]
        if owner is not None and owner_is_here(owner):
            raise StoreError(
                f"process {owner_pid(owner)} works on {run.run_id} of this store",
                help=f"stop it first (`kill {owner_pid(owner)}`), then run `hookline trust` again",
            )


def adopt(project: Project, home: str, store_id: str, metadata: dict[str, str]) -> Adopted:
    """Adopt a store that its user has looked at; none of its runs continues.

    That is in the store before it is theirs, so that a kill in between leaves nothing to run;
    and because it cannot be undone, that the store can become theirs is proved before.
    """
    from hookline.trust.adoption import adopt as adopt_contents  # rarely done

    def admit(found: Identity) -> None:
        if _with_our_schema(found) != store_id:
            raise StoreReplaced(f"{project.database} was replaced while it was being checked")

    prove_adoptable(home, project)
    store = open_store(project.store_url, admit=admit)
    try:
        with store.write(dict(metadata)) as tx:
            _refuse_held(tx)
            adopted = adopt_contents(tx)
    finally:
        store.close()
    keep_private(project.folder)
    adopt_store(home, project, store_id)
    return adopted
