"""An executable file: payload as JSON on stdin, answer as JSON on stdout, no shell between."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from hookline.errors import HookFailure
from hookline.hooks.calls.program import reply_of, run_program
from hookline.hooks.kinds import PROGRAM, Fault, Reading
from hookline.hooks.registry import FILE, NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.hooks.records import Reply
    from hookline.hooks.kinds import Call, World, Written
    from hookline.hooks.registry import Hook

VALUE = Annotated[str, Meta(min_length=1, description="An executable file: JSON in, JSON out.")]
RUNS = FILE
CLEANS = KEEPS_TIME = True
TOLD_AS = "a script of the project is run"
SPEAKS_AS = PROGRAM


def read(written: Written) -> Reading:
    """A script must be there and be executable."""
    text = written.value
    path = os.path.abspath(os.path.join(written.base, text))
    label = os.path.basename(text.split()[0])
    return Reading(path, label, faults=_faults(text, path), files=(path,))


def _faults(text: str, path: str) -> Iterator[Fault]:
    if not os.path.isfile(path):
        has_arguments = " " in text.strip()
        help = "a line with arguments goes under `command:`" if has_arguments else "fix the path"
        yield Fault("no-such-script", f"there is no file '{text}'", help, NEVER)
    elif not os.access(path, os.X_OK):
        yield Fault("not-executable", f"'{text}' is not executable", f"chmod +x {text}", NEVER)


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the file and return what it printed."""
    path = os.path.join(world.root, hook.target)
    if not os.path.isfile(path):
        raise HookFailure(f"{hook.target} is not a file: correct its path, or remove the hook")
    if not os.access(path, os.X_OK):
        raise HookFailure(f"{hook.target} is not executable: run `chmod +x '{path}'`")
    return reply_of(await run_program((path,), hook, call, world))
