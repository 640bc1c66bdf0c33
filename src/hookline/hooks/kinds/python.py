"""A function named `module:function`, called in a child process that can be killed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hookline.domain.records import Reply
from hookline.errors import HookFailure
from hookline.hooks.kinds.program import failure, printed_object, run_program
from hookline.points import POINTS, REACT

if TYPE_CHECKING:
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook
    from hookline.ports.processes import Finished


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Call the function in a child and return its answer; what it printed is the stderr."""
    module, _, function = hook.target.partition(":")
    if not module or not function:
        raise HookFailure(f"'{hook.target}' names no function: write it as module:function")
    point = POINTS.get(call.point)
    first = "event" if point is None or point.rule == REACT else "payload"
    # -P: a json.py in the project's root must not replace the one that Hookline imports.
    argv = (sys.executable, "-P", "-m", "hookline.pyhook", first, hook.target)
    finished = await run_program(argv, hook, call, world)
    message = _message(finished)
    if "error" in message:
        raise HookFailure(message["error"], stderr=finished.stderr, exit_code=finished.exit_code)
    return Reply(answer=message["answer"], stderr=finished.stderr)


def _message(finished: Finished) -> dict[str, Any]:
    message = printed_object(finished)
    if message is None or message.keys() not in ({"answer"}, {"error"}):
        raise failure(f"it ended with exit code {finished.exit_code} and no answer", finished)
    return message
