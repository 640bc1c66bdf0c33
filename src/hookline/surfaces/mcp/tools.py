"""Every tool. A tool is a function: its name, its docstring and the type of its arguments are what
an agent reads, in every turn, so the words are short.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from hookline.surfaces.mcp import arguments as a
from hookline.surfaces.mcp import loop_tools as loop
from hookline.surfaces.mcp import task_tools as task


class Tool(NamedTuple):
    """A tool. Those of the core are what an agent in a loop needs; a reader changes nothing."""

    run: Callable[[Any, Any], Any | Awaitable[Any]]
    core: bool = True
    reads: bool = False
    output: dict[str, Any] | None = None

    @property
    def summary(self) -> str:
        """What it is for."""
        return " ".join((self.run.__doc__ or "").split())

    @property
    def arguments(self) -> type[a.ToolArguments]:
        """What it takes."""
        name = self.run.__annotations__["args"].removeprefix("a.")
        found: type[a.ToolArguments] = getattr(a, name)
        return found


def _object(**properties: str) -> dict[str, Any]:
    """The schema of an object whose fields are all there."""
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": fields, "required": list(fields)}


_REGISTERED = _object(
    hookId="string", taskId="string", hookType="string", enabled="boolean", metadata="object"
)
_EVALUATED = _object(
    **dict.fromkeys(("hookId", "taskId"), "string"),
    iteration="integer",
    action="string",
    reason="string",
    checkpointCreated="boolean",
    metadata="object",
)
_CLEARED = _object(taskId="string", hooksCleared="integer")

TOOLS: dict[str, Tool] = {
    tool.run.__name__: tool
    for tool in (
        Tool(task.task_get, reads=True),
        Tool(loop.hook_register, output=_REGISTERED),
        Tool(loop.hook_evaluate, output=_EVALUATED),
        Tool(loop.hook_list, reads=True),
        Tool(loop.hook_clear, output=_CLEARED),
        Tool(loop.iteration_start),
        Tool(loop.iteration_validate),
        Tool(loop.iteration_next),
        Tool(loop.iteration_complete),
        Tool(task.task_create),
        Tool(task.task_list, reads=True),
        Tool(task.task_next),
        Tool(task.task_update),
        Tool(task.task_complete),
        Tool(task.task_block),
        Tool(task.dep_add, core=False),
        Tool(task.note_add),
        Tool(task.note_list, reads=True),
        Tool(task.checkpoint_create, core=False),
        Tool(task.checkpoint_list, core=False, reads=True),
        Tool(task.checkpoint_get, core=False, reads=True),
        Tool(task.checkpoint_resume, core=False),
        Tool(task.session_complete),
        Tool(task.events_tail, core=False, reads=True),
    )
}


# What an agent needs while its session runs the loop: tasks, notes, and a stricter end if it wants.
SESSION = (
    *("task_get", "task_create", "task_list", "task_update", "task_complete", "task_block"),
    *("dep_add", "note_add", "note_list", "session_complete", "hook_register", "hook_clear"),
)
# The loop that an agent runs by itself; in a session there is another one already.
LOOP = frozenset(name for name in TOOLS if name.startswith("iteration_")) | {"hook_evaluate"}


def chosen(which: str) -> dict[str, Tool]:
    """The tools of a set: `session`, `core` or `all`."""
    if which == "session":
        return {name: TOOLS[name] for name in SESSION}
    return {name: tool for name, tool in TOOLS.items() if which == "all" or tool.core}
