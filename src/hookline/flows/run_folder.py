"""A run's own folder, for its steering hooks: `run.json` says what the run is about."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hookline.domain.runs import Run

RUN_FILE = "run.json"


def run_folder(runs: str, run: Run) -> str:
    """The folder of a run among those of all runs; it is there from now on."""
    folder = os.path.join(runs, run.run_id)
    os.makedirs(folder, exist_ok=True)
    # Only what stays the same while the run lasts: hooks read it whenever they like.
    facts = {
        "runId": run.run_id,
        "flow": run.flow,
        "input": run.input,
        "metadata": run.metadata,
        "createdAt": run.created_at,
    }
    _publish(os.path.join(folder, RUN_FILE), msgspec.json.encode(facts))
    return folder


def _publish(path: str, data: bytes) -> None:
    """Write a file that nobody ever sees half written, unless it is there already."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read() == data:
                return
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)
