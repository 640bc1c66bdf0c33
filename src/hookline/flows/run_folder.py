"""A run's own folder, for its steering hooks: `run.json` says what the run is about."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.files import own_folder, publish, read_regular

if TYPE_CHECKING:
    from hookline.domain.runs import Run

RUN_FILE = "run.json"


def run_folder(runs: str, run: Run) -> str:
    """The folder of a run among those of all runs; it is there from now on."""
    # Only what stays the same while the run lasts: hooks read it whenever they like.
    facts = {
        "runId": run.run_id,
        "flow": run.flow,
        "input": run.input,
        "metadata": run.metadata,
        "createdAt": run.created_at,
    }
    path = os.path.join(runs, run.run_id)
    with own_folder(*os.path.split(runs), run.run_id) as folder:
        _publish(folder, os.path.join(path, RUN_FILE), msgspec.json.encode(facts))
    return path


def _publish(folder: int, path: str, data: bytes) -> None:
    """Write a file that nobody ever sees half written, unless it is there already."""
    with suppress(OSError):
        if read_regular(path, len(data) + 1) == data:
            return
    publish(folder, RUN_FILE, data)
