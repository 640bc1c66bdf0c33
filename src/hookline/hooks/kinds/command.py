"""A shell line: variables travel in the environment, the payload goes to stdin."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hookline.errors import HookFailure
from hookline.hooks.kinds.program import reply_of, run_program
from hookline.hooks.templates import compile_line
from hookline.points import EVENT, POINTS

if TYPE_CHECKING:
    from hookline.domain.records import Reply
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

SHELL = "/bin/sh"
_compiled = lru_cache(maxsize=256)(compile_line)


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the line in a shell and return what it printed."""
    point = POINTS.get(call.point)
    line, problems = _compiled(hook.target, point.variables if point else EVENT)
    if problems:
        raise HookFailure("; ".join(f"{each.message}: {each.help}" for each in problems))
    return reply_of(await run_program((SHELL, "-c", line), hook, call, world))
