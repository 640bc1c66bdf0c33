"""A function named `module:function`, called in a child process that can be killed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from hookline.domain.hooks.records import Reply
from hookline.errors import HookFailure
from hookline.hooks.calls.program import failure, printed_object, run_program
from hookline.hooks.kinds import Fault, Reading
from hookline.hooks.registry import FUNCTION, NEVER
from hookline.points import REACT, rule_of
from hookline.programs import own_program

if TYPE_CHECKING:
    from hookline.hooks.kinds import Call, World, Written
    from hookline.hooks.registry import Hook
    from hookline.ports.processes import Finished

VALUE = Annotated[str, Meta(min_length=1, description="A function, as module:function.")]
RUNS = FUNCTION
CLEANS = KEEPS_TIME = True
TOLD_AS = "a function of the project is called"
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def read(written: Written) -> Reading:
    """A python hook is named module:function."""
    text = written.value
    help = "write it as module:function, such as myhooks:page_me"
    fault = Fault("bad-function", f"'{text}' does not name a function", help, NEVER)
    return Reading(text, text, faults=() if _FUNCTION.fullmatch(text) else (fault,))


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Call the function in a child and return its answer; what it printed is the stderr."""
    module, _, function = hook.target.partition(":")
    if not module or not function:
        raise HookFailure(f"'{hook.target}' does not name a function: write it as module:function")
    first = "event" if rule_of(call.point) == REACT else "payload"
    # -P: a json.py in the project's root must not replace the one that Hookline imports.
    argv = own_program("hookline.pyhook", first, hook.target)
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
