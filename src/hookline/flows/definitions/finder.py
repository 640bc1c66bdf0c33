"""Flows as they are defined: Python functions, and steps in YAML. Both run on one context."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import msgspec

from hookline import plugins
from hookline.digest import sha256
from hookline.domain.runs.model import FlowMistake, Run, UnknownFlow
from hookline.errors import BadInput
from hookline.flows.definitions.files import digest_of_file, load_file, names_in
from hookline.flows.definitions.steps import run_steps
from hookline.project import user_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from hookline.flows.context import Context

F = TypeVar("F", bound="Callable[..., Any]")
MARK = "__hookline_flow__"
STEPS = "steps"


class FlowDefinition(NamedTuple):
    """A flow that can be started, and the digest of its code.

    `pins` is what a chapter keeps of its definition.
    """

    name: str
    origin: str
    digest: str
    begin: Callable[[Context, Run], Coroutine[Any, Any, Any]]
    doc: str = ""
    steps: tuple[dict[str, Any], ...] = ()
    check_input: Callable[[Mapping[str, Any]], None] = lambda given: None
    settings: Mapping[str, Any] = {}

    @property
    def pins(self) -> dict[str, Any]:
        """What a run of this flow keeps until its next chapter."""
        return {STEPS: list(self.steps)} if self.steps else dict(self.settings)


class Known(NamedTuple):
    """What is known about a flow without running any of its code."""

    digest: str
    pins: dict[str, Any]


@overload
def flow(function: F, /) -> F: ...
@overload
def flow(*, name: str) -> Callable[[F], F]: ...
def flow(function: Any = None, /, *, name: str = "") -> Any:
    """Make a flow of an async function: `@flow` or `@flow(name="release")`."""

    def mark(wrapped: Any) -> Any:
        setattr(wrapped, MARK, name or wrapped.__name__)
        return wrapped

    return mark if function is None else mark(function)


def found_plugins() -> dict[str, Any]:
    """The flows of plugins, by name; nothing is loaded."""
    return {point.name: point for point in plugins.found(plugins.FLOWS)}


def _everything_is_allowed() -> None:
    """Nothing is run, so nothing has to be trusted."""


class FlowFinder(NamedTuple):
    """Finds flows by name: Hookline's own, configuration, the project's folder, plugins."""

    root: str
    folder: str
    configured: Mapping[str, Any]
    allowed: Callable[[], None] = _everything_is_allowed
    plugins: Callable[[], Mapping[str, Any]] = found_plugins
    admit: Callable[[str, str], None] = lambda run_id, name: None
    own: Mapping[str, Callable[[], FlowDefinition]] = {}
    learn: Callable[[FlowDefinition], None] = lambda found: None

    def find_of(self, run: Run) -> FlowDefinition:
        """The flow of a run; a name in the store is not enough to import a module."""
        if self.is_module(run.flow):
            self.admit(run.run_id, run.flow)
        return self.find(run.flow)

    def is_module(self, name: str) -> bool:
        """Whether a name means a function of a module."""
        return ":" in name and name not in self.own and name not in self.configured

    def find(self, name: str) -> FlowDefinition:
        """The flow of that name, or UnknownFlow."""
        self.allowed()
        found = self._found(name)
        self.learn(found)
        return found

    def _found(self, name: str) -> FlowDefinition:
        if name in self.own:
            return self.own[name]()
        if name in self.configured:
            return _from_steps(name, self.configured[name])
        if ":" in name:
            return self._from_module(name)
        unreadable = []
        for path in self._files():
            names = names_in(path)
            if names is None:
                unreadable.append(self._shown(path))
            elif name in names:
                return self._from_file(name, path)
        plugin = self.plugins().get(name)
        if plugin is not None:
            return _from_plugin(name, plugin)
        also = f"; {' and '.join(unreadable)} cannot be read as Python" if unreadable else ""
        raise UnknownFlow(f"there is no flow '{name}'{also}")

    def known(self, name: str) -> Known | None:
        """What a new run of a flow needs to know, without running code; None: no such flow."""
        if name in self.configured:
            found = _from_steps(name, self.configured[name])
            return Known(found.digest, found.pins)
        if ":" in name:
            return Known("", {})
        for path in self._files():
            if name in (names_in(path) or ()):
                return Known(digest_of_file(path), {})
        return Known("", {}) if name in self.plugins() else None

    def names(self) -> list[str]:
        """The named flows of the project and of plugins; runs no code."""
        files = [name for path in self._files() for name in names_in(path) or ()]
        return sorted({*self.configured, *files, *self.plugins()})

    def all(self) -> list[FlowDefinition]:
        """Every named flow; one that cannot be loaded says so and hides no other."""
        self.allowed()
        found = [_from_steps(name, each) for name, each in self.configured.items()]
        for path in self._files():
            stem = os.path.splitext(os.path.basename(path))[0]
            names = sorted(names_in(path) or {stem})
            found += [_or_broken(name, path, self._from_file, path) for name in names]
        return found + [
            _or_broken(name, plugin.value, _from_plugin, plugin)
            for name, plugin in self.plugins().items()
        ]

    def _files(self) -> list[str]:
        folder = os.path.join(self.folder, "flows")
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        return [os.path.join(folder, name) for name in names if name.endswith(".py")]

    def _shown(self, path: str) -> str:
        """A file's name that stays the same when the project is moved or cloned."""
        return os.path.relpath(path, self.root)

    def _from_file(self, name: str, path: str) -> FlowDefinition:
        self._open_project()
        found = vars(load_file(path, self._shown(path))).values()
        functions = {getattr(f, MARK): f for f in found if callable(f) and hasattr(f, MARK)}
        if name not in functions:
            raise UnknownFlow(f"{self._shown(path)} defines no flow '{name}'")
        return _from_function(name, functions[name], path)

    def _open_project(self) -> None:
        """Let flows import the project's modules."""
        if self.root not in sys.path:
            sys.path.insert(0, self.root)
        # As for python hooks: no bytecode is read from the repository or written to it.
        sys.pycache_prefix = sys.pycache_prefix or os.path.join(
            user_folder(os.environ), "cache", "bytecode"
        )

    def _from_module(self, target: str) -> FlowDefinition:
        module_name, _, attribute = target.partition(":")
        self._open_project()
        try:
            found: Any = importlib.import_module(module_name)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as problem:
            raise UnknownFlow(f"there is no flow '{target}': {problem}") from problem
        except (Exception, SystemExit) as problem:  # the user's code may raise anything
            raise _cannot_load(module_name, problem) from problem
        return _from_function(target, found, _file_of(found) or module_name)


def _from_steps(name: str, definition: Any) -> FlowDefinition:
    steps = tuple(msgspec.to_builtins(definition.steps))
    digest = sha256(msgspec.json.encode(steps)).hexdigest()[:16]

    def begin(context: Context, run: Run) -> Coroutine[Any, Any, Any]:
        return run_steps(context, run.pins.get(STEPS, steps))

    return FlowDefinition(name, "hookline.yaml", digest, begin, steps=steps)


def _from_function(name: str, function: Any, path: str) -> FlowDefinition:
    if not callable(function):
        raise FlowMistake(f"flow '{name}' is not a function")

    def check_input(given: Mapping[str, Any]) -> None:
        try:
            inspect.signature(function).bind(None, **given)
        except TypeError as problem:
            raise BadInput(f"flow '{name}' cannot take this input: {problem}") from problem

    async def begin(context: Context, run: Run) -> Any:
        check_input(run.input)
        made = function(context, **run.input)
        if not hasattr(made, "__await__"):
            raise FlowMistake(f"flow '{name}' must be an `async def` that takes the context first")
        return await made

    doc = inspect.cleandoc(function.__doc__ or "")
    return FlowDefinition(name, path, digest_of_file(path), begin, doc, check_input=check_input)


def _from_plugin(name: str, plugin: Any) -> FlowDefinition:
    try:
        function = plugin.load()
    except (Exception, SystemExit) as problem:  # a plugin's code may raise anything
        raise _cannot_load(plugin.value, problem) from problem
    return _from_function(name, function, _file_of(function) or plugin.value)


def _or_broken(
    name: str, origin: str, load: Callable[[str, Any], FlowDefinition], source: Any
) -> FlowDefinition:
    """The flow, or one whose description says why it cannot be started."""
    try:
        return load(name, source)
    except (FlowMistake, UnknownFlow) as problem:
        wrong = problem

    async def begin(context: Context, run: Run) -> Any:
        raise wrong

    return FlowDefinition(name, origin, "", begin, f"broken: {wrong.message}")


def _cannot_load(what: str, problem: BaseException) -> FlowMistake:
    return FlowMistake(f"{what} cannot be loaded: {type(problem).__name__}: {problem}")


def _file_of(function: Any) -> str:
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    return getattr(module, "__file__", None) or ""
