"""The kinds of hook that leave this process, one file each; `KINDS` is their registry.

A kind runs the thing and returns what it said. What that means is for the point's rule to read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from hookline.domain.records import Reply
    from hookline.hooks.registry import Hook
    from hookline.ports.agents import Agents
    from hookline.ports.network import Http
    from hookline.ports.processes import Processes, ProcessGroup
    from hookline.ports.work import Forge, Repository


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one hook: the payload as JSON, its variables, and the time it has.

    `name` is what the log calls the firing, or the key of the call; `cause` is the place in the log
    of the event at which the hook is called, if it is one.
    """

    point: str
    payload: bytes
    values: Mapping[str, str]
    env: Mapping[str, str]
    timeout: float
    name: str = ""
    cause: int | None = None


class World(NamedTuple):
    """What hooks need around them: the project's root, the doors, and the environment.

    `ask` calls another hook on the same payload, for hooks that are made of others; its outcome
    is a `hookline.domain.records.Outcome`. `folder` is where the work is done that the hook is
    about: the worktree of a task, or the project's root. `task` is, at gates, the page of the task.
    """

    root: str
    folder: str
    processes: Processes
    http: Http
    agents: Agents
    environ: Mapping[str, str]
    ask: Callable[[Any], Awaitable[Any]]
    on_start: Callable[[ProcessGroup], None] | None = None
    repository: Repository | None = None
    forge: Forge | None = None
    task: str | None = None


class Kind(Protocol):
    """Runs a hook and returns its reply; raises HookFailure when it did not run to its end."""

    async def __call__(self, hook: Hook, call: Call, world: World) -> Reply:
        """Run the hook once."""
        ...


# The module of each kind; one is loaded with the first hook of its kind.
KINDS = {
    "command": "command",
    "script": "script",
    "python": "python",
    "http": "http",
    "agent": "agent",
    "built-in": "builtin",
}


def load_kind(name: str) -> Kind:
    """What runs hooks of a kind."""
    kind: Kind = import_module(f"{__name__}.{KINDS[name]}").run
    return kind
