"""The kinds of hook that run outside this process. Each module here is one, with its name.

A kind runs the hook and returns its reply. The point's rule reads what that means.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.errors import BrokenPlugin, HookTimeout
from hookline.immutable import Immutable
from hookline.plugins import KINDS
from hookline.points import Point

if TYPE_CHECKING:
    from hookline.domain.hooks.records import Reply
    from hookline.hooks.registry import Hook
    from hookline.ports.agents import Agents
    from hookline.ports.network import Http, Mail
    from hookline.ports.processes import Processes, ProcessGroup
    from hookline.ports.repository import Repository
    from hookline.ports.work import Forge


# Who speaks in the answer of a hook.
PROGRAM, REVIEWER = "program", "reviewer"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one hook: the payload as JSON, its variables, and the time it has.

    `name` is what the log calls the firing, or the key of the call; `cause` is the position
    in the log of the event at which the hook is called, if it is one.
    """

    point: str
    payload: bytes
    values: Mapping[str, str]
    env: Mapping[str, str]
    timeout: float
    name: str = ""
    cause: int | None = None


class World(Immutable):
    """What hooks need around them: the project's root, the doors, and the environment.

    `ask` calls another hook on the same payload, for hooks that consist of others; its outcome
    is a `hookline.domain.hooks.records.Outcome`. `folder` is where the work is done that the hook
    is about: the worktree of a task, or the project's root. At gates, `task` is the page of the
    task, and `authors` are the agents that worked on it, who do not review it. `clean` takes
    secrets out of what a hook tells others, such as the names of files. `ring` rings the bell of
    the terminals that watch.
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
    authors: frozenset[str] = frozenset()
    clean: Callable[[str], str] = str
    mail: Mail | None = None
    ring: Callable[[], None] = lambda: None


class Kind(Protocol):
    """A kind of hook: a module of this folder, or what an entry point of `hookline.kinds` names.

    `VALUE` is the type of the value under the kind's name in a hook: text, or a struct of named
    values. `RUNS` says what the texts in it are to trust; without it they may be anything. With a
    function `read`, a kind makes more of its value than `read_value` does.

    What it returns or raises is cleaned of secrets, unless it says with `CLEANS` that all of it
    comes through doors that do so. It is stopped when its time is over, unless it says with
    `KEEPS_TIME` that it stops on its own, with all that it has started.

    `TOLD_AS` is what an agent is told about such a check. `SPEAKS_AS` says who rejects work at
    a gate: a `PROGRAM`, by its exit code and what it prints, or a `REVIEWER`; without it, the
    project. With `look(hook, root, environ)`, `doctor` says what a hook would call, or, by the
    HooklineError that it raises, what is missing.
    """

    VALUE: Any
    RUNS: str

    async def run(self, hook: Hook, call: Call, world: World) -> Reply:
        """Run the hook once; HookFailure when it did not run to its end."""


Run = Callable[["Hook", Call, World], Coroutine[Any, Any, "Reply"]]


class Written(msgspec.Struct, frozen=True):
    """A hook as it is written: the value under its kind's name, and the keys around it.

    `base` is the folder that paths count from. `prompt` and `options` are those keys of the hook.
    """

    value: Any
    point: Point
    base: str
    agents: Mapping[str, Any] = {}
    prompt: str | None = None
    options: str | None = None


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with a value; with a length, it is that part of the text."""

    code: str
    message: str
    help: str = ""
    consequence: str = ""
    offset: int = 0
    length: int = 0
    is_warning: bool = False


class Reading(msgspec.Struct, frozen=True):
    """What a kind makes of a value: the hook's target and metadata, and all that is wrong.

    A hook without a name is called by its `label`. The answer depends on the state of `files`.
    """

    target: str
    label: str
    metadata: dict[str, Any] = {}
    faults: Iterable[Fault] = ()
    files: tuple[str, ...] = ()


def read_value(name: str, written: Written) -> Reading:
    """What a kind makes of a value; without a say in it, text is the target, all else arguments."""
    kind = KINDS.load(name)
    if hasattr(kind, "read"):
        found: Reading = kind.read(written)
        return found
    if isinstance(written.value, str):
        return Reading(written.value, name)
    return Reading("", name, {"arguments": msgspec.to_builtins(written.value)})


def declares(name: str, attribute: str, otherwise: Any = None) -> Any:
    """What a kind says about itself, if it says anything and can be loaded."""
    try:
        return getattr(KINDS.load(name), attribute, otherwise)
    except BrokenPlugin:
        return otherwise


def load_kind(name: str) -> Run:
    """What runs hooks of a kind, and is stopped when its time is over."""
    kind = KINDS.load(name)
    run: Run = kind.run
    if getattr(kind, "KEEPS_TIME", False):
        return run

    async def bounded(hook: Hook, call: Call, world: World) -> Reply:
        import asyncio  # reading a configuration needs kinds, and none of this

        try:
            async with asyncio.timeout(call.timeout):
                return await run(hook, call, world)
        except TimeoutError as late:
            raise HookTimeout(f"timed out after {call.timeout:g} s") from late

    return bounded
