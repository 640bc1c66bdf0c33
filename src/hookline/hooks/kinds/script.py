"""An executable file: payload as JSON on stdin, answer as JSON on stdout, no shell between."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.errors import HookFailure
from hookline.hooks.kinds.program import reply_of, run_program

if TYPE_CHECKING:
    from hookline.domain.records import Reply
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the file and return what it printed."""
    path = os.path.join(world.root, hook.target)
    if not os.path.isfile(path):
        raise HookFailure(f"{hook.target} is not a file: correct its path, or remove the hook")
    if not os.access(path, os.X_OK):
        raise HookFailure(f"{hook.target} is not executable: run `chmod +x '{path}'`")
    return reply_of(await run_program((path,), hook, call, world))
