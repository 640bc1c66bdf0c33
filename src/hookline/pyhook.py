"""The program that python functions run in: `python -m hookline.pyhook event|payload|call T`.

Reads the payload from stdin and writes `{"answer": ...}` or `{"error": ...}` to stdout. What the
function itself prints goes to stderr, so that it cannot be taken for the answer.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import Event
from hookline.domain.hooks.records import not_a_number
from hookline.errors import BadHook
from hookline.project import user_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from hookline.hooks.registry import HookContext

EX_SOFTWARE = 70


def main(argv: list[str]) -> int:
    """Call the function that the arguments name and report its answer or its error."""
    answers = _take_stdout()
    first, target = argv
    # In a task's worktree an agent could put another module before the one that was trusted.
    sys.path.insert(0, os.environ.get("HOOKLINE_PROJECT") or os.getcwd())
    # Bytecode that a repository brings was not looked at when its source was trusted, and
    # bytecode that we leave there would look like a change; so it is kept in the user's folder.
    sys.pycache_prefix = os.path.join(user_folder(os.environ), "cache", "bytecode")
    try:
        answer = _call(first, target, msgspec.json.decode(sys.stdin.buffer.read()))
        line = _encode({"answer": answer}, target)
    except BadHook as error:
        return _fail(answers, str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001  the user's code may raise anything
        return _fail(answers, _report(error))
    _write(answers, line)
    return 0


class LazyContext:
    """A HookContext that opens the store when the hook first looks at it, and not before."""

    def __init__(self) -> None:
        self._context: HookContext | None = None

    def __getattr__(self, name: str) -> Any:
        if self._context is None:
            # The composition root costs more than most hooks, and few of them need it.
            from hookline.app import open_context

            self._context = open_context(os.environ)
        return getattr(self._context, name)


def _take_stdout() -> int:
    answers = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # line by line, in one order with the rest
    return answers


def _call(first: str, target: str, given: Any) -> Any:
    """The answer of a hook, or of a function of a flow with the arguments that the flow gave."""
    if first == "call":
        answer = _find(target)(*given["args"], **given["kwargs"])
    elif first == "event" and "event" in given:
        answer = _find(target)(typed.convert(given["event"], Event), LazyContext())
    else:
        answer = _find(target)(given, LazyContext())
    return _run(answer) if hasattr(answer, "__await__") else answer


def _run(waiting: Awaitable[Any]) -> Any:
    import asyncio  # a sync function does not pay for the event loop

    async def wait() -> Any:
        return await waiting

    return asyncio.run(wait())


def _find(target: str) -> Any:
    module_name, _, path = target.rpartition(":")
    try:
        found: Any = _module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there; something that it imports is not
        raise BadHook(f"there is no module '{error.name}', which {target} names") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise BadHook(f"there is no '{name}' in what {target} names") from None
    if not callable(found):
        raise BadHook(f"{target} is not a function: it is a {type(found).__name__}")
    return found


def _module(name: str) -> Any:
    if not name.endswith(".py"):
        return import_module(name)
    # Only functions of a flow's own file are named by a path.
    from hookline.domain.runs.model import FlowMistake
    from hookline.flows.definitions.files import load_file

    try:
        return load_file(name, name)
    except FlowMistake as problem:
        raise BadHook(problem.message) from problem


def _encode(message: Mapping[str, Any], target: str) -> bytes:
    try:
        number = not_a_number(msgspec.to_builtins(message, str_keys=True))
        if number:
            raise ValueError(f"it holds {number}, which is not a finite number")
        return msgspec.json.encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadHook(f"the answer of {target} cannot be written as JSON: {error}") from error


def _report(error: BaseException) -> str:
    """Print the traceback without the frames that are not the user's; return what was raised."""
    import traceback  # only failures pay for it

    whole = traceback.TracebackException.from_exception(error)
    library = os.path.dirname(os.__file__)
    ours = (os.path.dirname(__file__), f"{library}/asyncio/", f"{library}/importlib/", "<frozen")
    users = [frame for frame in whole.stack if not frame.filename.startswith(ours)]
    whole.stack = traceback.StackSummary.from_list(users)
    sys.stderr.write("".join(whole.format()))
    return f"{type(error).__qualname__}: {error}".removesuffix(": ")


def _fail(answers: int, error: str) -> int:
    _write(answers, msgspec.json.encode({"error": error}))
    return EX_SOFTWARE


def _write(answers: int, line: bytes) -> None:
    with open(answers, "wb") as file:
        file.write(line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
