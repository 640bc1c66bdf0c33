"""The processes of this machine: which hold leases, and which advance runs."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import boot_id, owner_is_gone
from hookline.adapters.processes.identity import owner_pid as owner_pid
from hookline.files import own_folder, publish, read_regular
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.app import App
    from hookline.ports.store import View

EVERY_RUN = "*"
FOLDER = "serving"
LONGEST = 300
# The same on every POSIX system; the signal module costs an import of enum.
SIGINT = 2


def is_held(view: View, holder: str | None, until: float) -> bool:
    """Whether a living process holds a lease."""
    return holder is not None and until >= view.time() and not owner_is_gone(holder)


def advancing(view: View, run_id: str) -> str | None:
    """The living process that advances a run."""
    holder, _, until = view.runs.leases.holder(run_id)
    return holder if is_held(view, holder, until) else None


def is_free(own: str, now: Callable[[], float], owner: str, until: float) -> bool:
    """Whether a lease may be taken: it is our own, it is over, or its holder is gone.

    What time it is, is up to the store: machines do not agree on it.
    """
    return owner == own or until < now() or owner_is_gone(owner)


def dead_holders(view: View) -> str:
    """The runs whose processes are gone, each with the token that it was held by."""
    found = view.runs.leases.holders()
    return " ".join(f"{run}:{token}" for run, token, owner in found if owner_is_gone(owner))


def is_of_another_boot(holder: str) -> bool:
    """Whether a holder of leases ran before this machine was last restarted."""
    return not holder.startswith(f"{boot_id()}:")


# A process that waits for a run holds no lease on it meanwhile.


@contextmanager
def serving(app: App, run_id: str = EVERY_RUN) -> Iterator[None]:
    """Let other processes know that this one advances a run, or all runs."""
    name = str(os.getpid())
    # Without it, a run would be reported as unattended.
    with suppress(OSError), own_folder(app.project.folder, FOLDER) as folder:
        publish(folder, name, f"{run_id} {app.owner}".encode())
    try:
        yield
    finally:
        with suppress(OSError), own_folder(app.project.folder, FOLDER) as folder:
            os.unlink(name, dir_fd=folder)


class Server(Immutable):
    """A living process of this machine that advances a run, or all runs."""

    run_id: str
    owner: str
    since: float

    @property
    def pid(self) -> int:
        """The number of the process."""
        return owner_pid(self.owner)


def servers(folder: str) -> list[Server]:
    """The processes of this machine that advance runs of a project, from its folder."""
    place = os.path.join(folder, FOLDER)
    found = []
    for name in os.listdir(place) if os.path.isdir(place) else ():
        with suppress(OSError, ValueError):
            path = os.path.join(place, name)
            told = read_regular(path, LONGEST).decode()
            run_id, _, owner = told.partition(" ")
            if owner.startswith(f"{boot_id()}:") and not owner_is_gone(owner):
                found.append(Server(run_id, owner, os.stat(path).st_mtime))
    return found


def served_runs(folder: str) -> set[str]:
    """The runs that living processes of this machine advance."""
    return {each.run_id for each in servers(folder)}


def is_served(folder: str, run_id: str) -> bool:
    """Whether a living process of this machine advances a run."""
    return not served_runs(folder).isdisjoint((run_id, EVERY_RUN))


def workers(folder: str) -> list[Server]:
    """The processes that advance all runs, the oldest first."""
    found = [each for each in servers(folder) if each.run_id == EVERY_RUN]
    return sorted(found, key=lambda each: each.since)


def interrupt(server: Server) -> bool:
    """Tell a process to stop, like ^C in its terminal; False if it is gone."""
    with suppress(ProcessLookupError):
        if not owner_is_gone(server.owner):
            os.kill(server.pid, SIGINT)
            return True
    return False
