"""A shell line: variables travel in the environment, the payload goes to stdin."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hookline.errors import HookFailure
from hookline.hooks.kinds.program import reply_of, run_program
from hookline.points import EVENT, POINTS

if TYPE_CHECKING:
    from hookline.domain.records import Reply
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

SHELL = "/bin/sh"


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the line in a shell and return what it printed."""
    line = _compiled(hook.target, call.point) if "{{" in hook.target else hook.target
    return reply_of(await run_program((SHELL, "-c", line), hook, call, world))


@lru_cache(maxsize=256)
def _compiled(line: str, at: str) -> str:
    # Reading the shell's language costs more than running most lines.
    from hookline.hooks.templates import compile_line

    point = POINTS.get(at)
    compiled, problems = compile_line(line, point.variables if point else EVENT)
    if problems:
        raise HookFailure("; ".join(f"{each.message}: {each.help}" for each in problems))
    return compiled
