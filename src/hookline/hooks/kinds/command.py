"""A shell line: variables travel in the environment, the payload goes to stdin."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from hookline.hooks.calls.program import reply_of, run_program
from hookline.hooks.kinds import PROGRAM, Fault, Reading
from hookline.hooks.registry import LINE
from hookline.points import EVENT, POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.hooks.records import Reply
    from hookline.hooks.kinds import Call, World, Written
    from hookline.hooks.registry import Hook

SHELL = "/bin/sh"
VALUE = Annotated[str, Meta(min_length=1, description="A shell line.", extra={"reads": "line"})]
RUNS = LINE
CLEANS = KEEPS_TIME = True
SPEAKS_AS = PROGRAM


def read(written: Written) -> Reading:
    """Template variables must exist at the point, and be used where their text stays text."""
    words = written.value.split()
    word = os.path.basename(words[0].rstrip("/")) if words else ""
    label = "".join(char for char in word if char.isprintable())[:40]
    return Reading(written.value, label or "command", faults=_faults(written))


def _faults(written: Written) -> Iterator[Fault]:
    # Only the configuration's checks pay for the shell's language.
    from hookline.hooks.language.templates import ALLOW, compile_line, option_warnings

    _, problems = compile_line(written.value, written.point.variables)
    for each in problems:
        yield Fault(each.code, each.message, each.help or "", "", each.offset, each.length)
    if not problems and written.options != ALLOW:
        late = "it fails when the value begins with '-'"
        for each in option_warnings(written.value):
            yield Fault(each.code, each.message, each.help, late, each.offset, each.length, True)


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the line in a shell and return what it printed."""
    line = _filled(hook, call) if "{{" in hook.target else hook.target
    return reply_of(await run_program((SHELL, "-c", line), hook, call, world))


def _filled(hook: Hook, call: Call) -> str:
    # Only lines with variables pay for the shell's language.
    from hookline.hooks.language.templates import fill_line

    point = POINTS.get(call.point)
    allowed = point.variables if point else EVENT
    return fill_line(hook.target, allowed, call.values, options=hook.metadata.get("options"))
