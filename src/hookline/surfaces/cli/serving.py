"""Which processes see to runs: one that waits with a run holds no lease on it meanwhile."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookline.adapters.identity import boot_id, owner_is_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App

EVERY_RUN = "*"
FOLDER = "serving"
LONGEST = 300


@contextmanager
def serving(app: App, run_id: str = EVERY_RUN) -> Iterator[None]:
    """Let others know that this process sees to a run, or to all."""
    folder = os.path.join(app.project.folder, FOLDER)
    path = os.path.join(folder, str(os.getpid()))
    with suppress(OSError):  # others are then told of a run that is in good hands
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{run_id} {app.owner}")
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)


def served_runs(folder: str) -> set[str]:
    """The runs that living processes of this machine see to, as told in a project's folder."""
    place = os.path.join(folder, FOLDER)
    found: set[str] = set()
    for name in os.listdir(place) if os.path.isdir(place) else ():
        with suppress(OSError, ValueError):
            with open(os.path.join(place, name), encoding="utf-8") as file:
                run_id, _, owner = file.read(LONGEST).partition(" ")
            if owner.startswith(f"{boot_id()}:") and not owner_is_gone(owner):
                found.add(run_id)
    return found
