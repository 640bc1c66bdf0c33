"""Creates the demo's repository, and ends what the demo started."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial

from hookline import typed
from hookline.adapters.git.checkout import Checkout
from hookline.adapters.git.door import Git, GitReply
from hookline.adapters.processes.identity import kill_group
from hookline.adapters.processes.process import LocalProcesses
from hookline.adapters.store.inspection import inspected
from hookline.errors import StoreError
from hookline.ports.processes import Processes, ProcessGroup


def demo_processes(folder: str) -> Processes:
    """What starts the programs of the demo."""
    return LocalProcesses(os.path.join(folder, "blobs"))


def demo_git(
    processes: Processes, env: Mapping[str, str], root: str
) -> Callable[..., Awaitable[GitReply]]:
    """Git in a repository that may not be there yet."""
    own = os.path.join(root, ".git")
    return partial(Git(processes, env).run, Checkout(root, own, own))


def end_children(database: str) -> None:
    """End what a killed command left running in separate process groups."""
    if not os.path.exists(database):
        return
    with suppress(StoreError), inspected(database) as store:  # or it was killed while creating it
        for child in store.children():
            kill_group(typed.decode(child, ProcessGroup))
