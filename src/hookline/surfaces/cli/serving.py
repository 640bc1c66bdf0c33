"""Which processes see to runs: one that waits with a run holds no lease on it meanwhile."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookline.adapters.identity import boot_id, owner_is_gone
from hookline.files import own_folder, publish, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App

EVERY_RUN = "*"
FOLDER = "serving"
LONGEST = 300


@contextmanager
def serving(app: App, run_id: str = EVERY_RUN) -> Iterator[None]:
    """Let others know that this process sees to a run, or to all."""
    name = str(os.getpid())
    # Without it others are told of a run that is in good hands.
    with suppress(OSError), own_folder(app.project.folder, FOLDER) as folder:
        publish(folder, name, f"{run_id} {app.owner}".encode())
    try:
        yield
    finally:
        with suppress(OSError), own_folder(app.project.folder, FOLDER) as folder:
            os.unlink(name, dir_fd=folder)


def served_runs(folder: str) -> set[str]:
    """The runs that living processes of this machine see to, as told in a project's folder."""
    place = os.path.join(folder, FOLDER)
    found: set[str] = set()
    for name in os.listdir(place) if os.path.isdir(place) else ():
        with suppress(OSError, ValueError):
            told = read_regular(os.path.join(place, name), LONGEST).decode()
            run_id, _, owner = told.partition(" ")
            if owner.startswith(f"{boot_id()}:") and not owner_is_gone(owner):
                found.add(run_id)
    return found
