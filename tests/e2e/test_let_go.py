"""What a command opens it lets go of when it ends, also inside a process that lives on."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def watchers() -> int:
    """How many handles of the kernel's file watcher this process has; a user has 128."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that lists them is gone by now
            found += os.readlink(f"/proc/self/fd/{number}") == "anon_inode:inotify"
    return found


def test_no_command_leaves_a_watcher_to_the_garbage_collector(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE)
    rig.configure({}, flows={"one": {"steps": [{"id": "a", "run": "true"}]}})
    gc.collect()
    gc.disable()
    try:
        before = watchers()
        assert rig.run().code == 0
        assert cli("flow", "start", "one").code == 0
        cli("flow", "start", "one", "--detach")
        assert cli("effect", "run", "R-3", "a").code == 0
        assert cli("work", "--flows", "--once").code == 0
        assert watchers() == before
    finally:
        gc.enable()
