"""A shell line: variables travel in the environment, the payload goes to stdin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.kinds.program import reply_of, run_program
from hookline.points import EVENT, POINTS

if TYPE_CHECKING:
    from hookline.domain.records import Reply
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

SHELL = "/bin/sh"


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the line in a shell and return what it printed."""
    line = _filled(hook, call) if "{{" in hook.target else hook.target
    return reply_of(await run_program((SHELL, "-c", line), hook, call, world))


def _filled(hook: Hook, call: Call) -> str:
    # Only lines with variables pay for the shell's language.
    from hookline.hooks.templates import fill_line

    point = POINTS.get(call.point)
    allowed = point.variables if point else EVENT
    return fill_line(hook.target, allowed, call.values, options=hook.metadata.get("options"))
