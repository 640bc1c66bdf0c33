"""The kinds of hook that leave this process, one file each; `KINDS` is their registry.

A kind runs the thing and returns what it said. What that means is for the point's rule to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from hookline.hooks.kinds import command, http, python, script
from hookline.ports import Http, Processes, ProcessGroup

if TYPE_CHECKING:
    from hookline.domain.records import Reply
    from hookline.hooks.registry import Hook


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one hook: the payload as JSON, its variables, and the time it has."""

    point: str
    payload: bytes
    values: Mapping[str, str]
    env: Mapping[str, str]
    timeout: float


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What hooks need around them: the project's root, the two doors, and the environment."""

    root: str
    processes: Processes
    http: Http
    environ: Mapping[str, str]
    on_start: Callable[[ProcessGroup], None] | None = None


class Kind(Protocol):
    """Runs a hook and returns its reply; raises HookFailure when it did not run to its end."""

    async def __call__(self, hook: Hook, call: Call, world: World) -> Reply:
        """Run the hook once."""
        ...


KINDS: dict[str, Kind] = {
    "command": command.run,
    "script": script.run,
    "python": python.run,
    "http": http.run,
}
