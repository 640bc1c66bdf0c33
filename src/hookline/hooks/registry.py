"""What a hook is, and the one registry that holds them in the one order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.errors import BadHook, UnknownHook, did_you_mean
from hookline.immutable import Immutable
from hookline.plugins import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Actions
    from hookline.ports.store import EventLog, GraphView

LAYERS = ("project", "user", "plugin", "built-in")
ON_FAILURE = ("open", "closed", "ask")
DEFAULT_PRIORITY = 100
# What the target of a hook is to trust, which covers the files that it names.
LINE, FILE, FUNCTION, NOTHING = "line", "file", "function", ""
NEVER = "this hook would never run"
_OWN_EVENTS = (
    "`hookline points` lists them; event types of your own are listed under `events:` in"
    " hookline.yaml, or added to the registry's `events`"
)


class HookContext(Immutable):
    """What a python hook may look at: the task graph, the event log, and a starter of flows."""

    graph: GraphView
    event_log: EventLog
    flows: Callable[[str, dict[str, Any]], str]


class Hook(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One hook: where it runs, what it runs, and how.

    `target` is what the user wrote: a shell line, a file, `module:function`, a URL or a
    built-in's name. `runs` is what that is to trust; by default it may be anything. A hook
    made in Python has a `handler` instead.
    """

    name: str
    points: tuple[str, ...]
    kind: str = "python"
    target: str = ""
    runs: str | None = None
    priority: int = DEFAULT_PRIORITY
    layer: str = "project"
    position: int = 0
    enabled: bool = True
    when: str | None = None
    timeout: float | None = None
    pipe_output: bool = False
    on_failure: str = "closed"
    rewrites: bool = False
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    origin: str = ""
    description: str = ""
    metadata: dict[str, Any] = {}
    handler: Any = None

    @property
    def order(self) -> tuple[int, int, int]:
        """The one order of hooks: priority, layer, position."""
        return (self.priority, LAYERS.index(self.layer), self.position)

    def __call__(self, *args: Any) -> Any:
        """Call the function that this hook was made from."""
        if self.handler is None:
            raise _bad(self, "has no function to call")
        return self.handler(*args)


def hook(
    *points: str,
    name: str | None = None,
    priority: int = DEFAULT_PRIORITY,
    when: str | None = None,
    timeout: float | None = None,
    enabled: bool = True,
    **options: Any,
) -> Callable[[Callable[..., Any]], Hook]:
    """Make a hook of a function: `@hook("task_completed", priority=5)`.

    The function takes (event, context), sync or async, and returns the answer of the point's
    rule; at task events, a list of actions. Nothing is registered until you register it.
    """

    def make(function: Callable[..., Any]) -> Hook:
        return Hook(
            name=name or function.__name__,
            points=points,
            priority=priority,
            when=when,
            timeout=timeout,
            enabled=enabled,
            handler=function,
            origin=f"{function.__module__}:{function.__qualname__}",
            description=(function.__doc__ or "").strip(),
            **options,
        )

    return make


def built_in(name: str, points: tuple[str, ...], **options: Any) -> Hook:
    """A hook that comes with Hookline itself."""
    place = "built-in"
    return Hook(
        name=name, points=points, kind=place, target=name, layer=place, origin=place, **options
    )


class HookRegistry:
    """The hooks of one project, by name, and in order for each point."""

    def __init__(self, hooks: Iterable[Hook] = (), events: Iterable[str] = ()) -> None:
        """`events` are custom event types, at which hooks may run besides the points."""
        self.events = set(events)
        self._hooks: dict[str, Hook] = {}
        self._ordered: dict[str, list[Hook]] = {}
        self._registered = 0
        for each in hooks:
            self.register(each)

    def register(self, new: Hook) -> Hook:
        """Add a hook, or refuse it with a message that names the offender."""
        check_hook(new, self.events)
        return self.add(new)

    def add(self, new: Hook) -> Hook:
        """Add a hook that was checked before, as the configuration's are."""
        old = self._hooks.get(new.name)
        if old is not None:
            places = f" by {old.origin or 'code'}, and again by {new.origin or 'code'}"
            raise _bad(new, f"is registered{places}", "give one of them another name")
        self._registered += 1
        if not new.position:
            new.position = self._registered
        self._hooks[new.name] = new
        self._ordered.clear()
        return new

    def unregister(self, name: str) -> None:
        """Remove a hook by name; an unknown name is an error."""
        self.get(name)
        del self._hooks[name]
        self._ordered.clear()

    def get(self, name: str) -> Hook:
        """The hook of that name, or UnknownHook with the nearest name."""
        if name not in self._hooks:
            near = did_you_mean(name, self._hooks)
            raise UnknownHook(f"no hook is called '{name}'", help=near or UnknownHook.help)
        return self._hooks[name]

    def __contains__(self, name: str) -> bool:
        return name in self._hooks

    def find(self, name: str) -> Hook | None:
        """The hook of that name, or None."""
        return self._hooks.get(name)

    def subscribers(self, point: str) -> Sequence[Hook]:
        """The hooks that name a point, in order, including those that are switched off."""
        found = self._ordered.get(point)
        if found is None:
            subscribed = [h for h in self._hooks.values() if point in h.points]
            found = self._ordered[point] = sorted(subscribed, key=lambda each: each.order)
        return found

    def hooks_for(self, point: str) -> Sequence[Hook]:
        """The hooks that run at a point, in order; disabled ones are left out."""
        return [hook for hook in self.subscribers(point) if hook.enabled]

    async def execute(
        self, event: Event, context: HookContext, *, changed: Collection[str] | None = None
    ) -> Actions:
        """Run the hooks of an event in this process and return their actions, carrying out none.

        A hook whose `when` does not hold is skipped; `changed()` looks at the files in `changed`.
        A hook that fails does not stop the others: `failures` of the answer names it.
        """
        from hookline.hooks.dispatch import dispatch_event  # only commands that call hooks do

        return await dispatch_event(self.hooks_for(event.type), event, context, changed)

    def list(self) -> list[Hook]:
        """Every hook, in the one order."""
        return sorted(self._hooks.values(), key=lambda each: each.order)


def check_hook(new: Hook, events: Collection[str] = ()) -> None:
    """The invariants of registration; the message names the hook and what is wrong with it."""
    name: Any = new.name
    if not (isinstance(name, str) and name and name.isprintable()):
        raise BadHook(f"a hook's name must be printable text, not {_shown(new.name)}")
    _check_points(new, events)
    if new.when is not None:
        _check_condition(new)
    if type(new.priority) is not int:
        raise _bad(new, f"has priority={new.priority!r}: it must be a whole number")
    if new.layer not in LAYERS or not KINDS.knows(new.kind):
        raise _bad(new, f"has an unknown kind or layer: {new.kind}, {new.layer}")
    if new.on_failure not in ON_FAILURE:
        raise _bad(new, f"has on_failure '{new.on_failure}'", f"it can be {', '.join(ON_FAILURE)}")
    _check_types(new)
    if new.kind in ("python", "built-in") and not new.target:
        _check_handler(new)


def _check_types(new: Hook) -> None:
    for field in msgspec.structs.fields(Hook):
        value = getattr(new, field.name)
        try:
            typed.convert(value, field.type)
        except msgspec.ValidationError as problem:
            raise _bad(new, f"has {field.name}={_shown(value)}: {problem}") from problem
    if new.timeout is not None and not 0 < new.timeout < float("inf"):
        raise _bad(new, f"has timeout={new.timeout!r}: it must be a number of seconds above 0")


def _bad(new: Hook, what: str, help: str | None = None) -> BadHook:
    return BadHook(f"hook '{new.name}' {what}", help=help)


def _shown(value: Any) -> str:
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001  # a value's repr may raise
        return f"a {type(value).__name__}"


def _check_points(new: Hook, events: Collection[str]) -> None:
    from hookline.points import POINTS  # the configuration's hooks need no check, and no points

    if not isinstance(new.points, tuple | list):
        remedy = f"write points=({new.points!r},)" if isinstance(new.points, str) else None
        raise _bad(new, f"has points={new.points!r}: they must be a tuple of names", remedy)
    if not new.points:
        raise _bad(new, "subscribes to nothing", "name at least one hook point")
    for point in new.points:
        if point not in (*POINTS, *events):
            near = did_you_mean(str(point), (*POINTS, *events))
            why = f"has points={new.points!r}: no hook point is called {point!r}"
            raise _bad(new, why, near or _OWN_EVENTS)


def _check_condition(new: Hook) -> None:
    # Most hooks have no condition.
    from hookline.domain.hooks.condition_fields import condition_fields
    from hookline.hooks.language.conditions import check

    is_text = isinstance(new.when, str)
    for point in new.points:
        problem = check(str(new.when), condition_fields(point)) if is_text else "it must be text"
        if problem:
            raise _bad(new, f"has when={new.when!r}: {problem}")


def _check_handler(new: Hook) -> None:
    if not callable(new.handler):
        why = f"has no function to call: its handler is {new.handler!r}"
        raise _bad(new, why, "pass handler=a function that takes (event, context)")
    import inspect  # costs more than the rest of this module, and only Python hooks need it

    try:
        signature = inspect.signature(new.handler)
    except ValueError:  # some C functions do not tell; calling them will
        return
    try:
        signature.bind(object(), object())
    except TypeError as problem:
        why = f"its signature is {signature}: {problem}"
        raise _bad(new, f"cannot be called with (event, context): {why}") from problem
