"""Flows as they are defined: Python functions, and steps in YAML. Both run on one context."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import msgspec

from hookline.digest import sha256
from hookline.domain.runs import FlowMistake, UnknownFlow
from hookline.flows.steps import run_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import ModuleType

    from hookline.domain.runs import Run
    from hookline.flows.context import Context

F = TypeVar("F", bound="Callable[..., Any]")
MARK = "__hookline_flow__"


class Flow(NamedTuple):
    """A flow that can be begun, and the digest of its code."""

    name: str
    origin: str
    digest: str
    begin: Callable[[Context, Run], Coroutine[Any, Any, Any]]
    doc: str = ""
    steps: tuple[dict[str, Any], ...] = ()


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


class FlowFinder:
    """Finds flows by name, in the order: configuration, the project's folder, a module."""

    def __init__(
        self,
        root: str,
        folder: str,
        configured: Mapping[str, Any],
        *,
        allowed: Callable[[], None],
        plugins: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._root = root
        self._folder = os.path.join(folder, "flows")
        self._configured = configured
        self._allowed = allowed
        self._plugins = plugins

    def find(self, name: str) -> Flow:
        """The flow of that name, or UnknownFlow."""
        self._allowed()
        if name in self._configured:
            return _from_steps(name, self._configured[name])
        if ":" in name:
            return self._from_module(name)
        for path in self._files():
            found = _functions(_load_file(path)).get(name)
            if found is not None:
                return _from_function(name, found, path)
        plugin = self._plugins().get(name)
        if plugin is not None:
            return _from_function(name, plugin.load(), plugin.value)
        raise UnknownFlow(f"there is no flow '{name}'")

    def known_digest(self, name: str) -> str | None:
        """The digest of a flow's code without running any of it; None if there is none."""
        if name in self._configured:
            return _from_steps(name, self._configured[name]).digest
        if ":" in name:
            return ""
        for path in self._files():
            if name in _names_in(path):
                return _digest_of_file(path)
        return "" if name in self._plugins() else None

    def all(self) -> list[Flow]:
        """Every flow that has a name."""
        self._allowed()
        found = [_from_steps(name, each) for name, each in self._configured.items()]
        for path in self._files():
            functions = _functions(_load_file(path))
            found += [_from_function(name, f, path) for name, f in functions.items()]
        found += [
            _from_function(name, plugin.load(), plugin.value)
            for name, plugin in self._plugins().items()
        ]
        return found

    def _files(self) -> list[str]:
        if not os.path.isdir(self._folder):
            return []
        names = sorted(n for n in os.listdir(self._folder) if n.endswith(".py"))
        return [os.path.join(self._folder, name) for name in names]

    def _from_module(self, target: str) -> Flow:
        module_name, _, attribute = target.partition(":")
        if self._root not in sys.path:
            sys.path.insert(0, self._root)
        try:
            found: Any = importlib.import_module(module_name)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as problem:
            raise UnknownFlow(f"there is no flow '{target}': {problem}") from problem
        path = getattr(sys.modules[module_name], "__file__", "") or module_name
        return _from_function(target, found, path)


def _from_steps(name: str, definition: Any) -> Flow:
    steps = tuple(msgspec.to_builtins(definition.steps))
    digest = sha256(msgspec.json.encode(steps)).hexdigest()[:16]

    def begin(context: Context, run: Run) -> Coroutine[Any, Any, Any]:
        return run_steps(context, steps)

    return Flow(name, "hookline.yaml", digest, begin, steps=steps)


def _from_function(name: str, function: Any, path: str) -> Flow:
    if not callable(function):
        raise FlowMistake(f"flow '{name}' is no function")

    def begin(context: Context, run: Run) -> Coroutine[Any, Any, Any]:
        made = function(context, **run.input)
        if not hasattr(made, "send"):
            raise FlowMistake(f"flow '{name}' must be an `async def` that takes the context first")
        coroutine: Coroutine[Any, Any, Any] = made
        return coroutine

    doc = (function.__doc__ or "").strip()
    return Flow(name, path, _digest_of_file(path), begin, doc)


def _digest_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return str(sha256(file.read()).hexdigest()[:16])
    except OSError:
        return ""


def _names_in(path: str) -> set[str]:
    """The flows that a file defines, by looking at it only."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return set()
    found = set()
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef):
            for mark in node.decorator_list:
                call = mark.func if isinstance(mark, ast.Call) else mark
                if getattr(call, "id", getattr(call, "attr", "")) == "flow":
                    given = [
                        k.value.value
                        for k in getattr(mark, "keywords", [])
                        if k.arg == "name" and isinstance(k.value, ast.Constant)
                    ]
                    found.add(str(given[0]) if given else node.name)
    return found


def _load_file(path: str) -> ModuleType:
    name = f"hookline_flows.{os.path.splitext(os.path.basename(path))[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FlowMistake(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as problem:  # the user's code may raise anything
        raise FlowMistake(
            f"{os.path.basename(path)} cannot be loaded: {type(problem).__name__}: {problem}"
        ) from problem
    for value in vars(module).values():
        if callable(value) and getattr(value, "__module__", "") == name:
            value.__hookline_file__ = path
    return module


def _functions(module: ModuleType) -> dict[str, Any]:
    marked = [v for v in vars(module).values() if callable(v) and hasattr(v, MARK)]
    return {getattr(function, MARK): function for function in marked}
