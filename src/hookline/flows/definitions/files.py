"""Files of flows: read once, and compiled from exactly what was read, never from bytecode."""

from __future__ import annotations

import ast
import errno
import os
import sys
from types import ModuleType

from hookline.digest import sha256
from hookline.domain.runs.model import FlowMistake
from hookline.files import read_regular

MAX_SOURCE = 16 << 20


def load_file(path: str, shown: str) -> ModuleType:
    """A file as a module. `shown` names it in messages and for functions that flows call.

    Bytecode next to it was not checked when the source was trusted, so none is used.
    """
    name = f"hookline_flows.{os.path.splitext(os.path.basename(path))[0]}"
    module = ModuleType(name)
    module.__dict__.update(__file__=path, __hookline_path__=shown)
    # Dataclasses and pickles look up the module of their objects.
    sys.modules[name] = module
    try:
        code = compile(_read(path), path, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102  # running the user's flows is what this is for
    except (Exception, SystemExit) as problem:  # the user's code may raise anything
        raise FlowMistake(
            f"{shown} cannot be loaded: {type(problem).__name__}: {problem}"
        ) from problem
    return module


def digest_of_file(path: str) -> str:
    """A short name for a file's content; empty if there is none."""
    try:
        return str(sha256(_read(path)).hexdigest()[:16])
    except OSError:
        return ""


def names_in(path: str) -> set[str] | None:
    """The flows that a file defines, without running it; None if it cannot be read."""
    try:
        tree = ast.parse(_read(path))
    except (OSError, SyntaxError, ValueError):
        return None
    marked = (
        _name_of(node, mark)
        for node in tree.body
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
        for mark in node.decorator_list
    )
    return {name for name in marked if name}


def _name_of(node: ast.AsyncFunctionDef | ast.FunctionDef, mark: ast.expr) -> str:
    call = mark.func if isinstance(mark, ast.Call) else mark
    if getattr(call, "id", getattr(call, "attr", "")) != "flow":
        return ""
    for keyword in getattr(mark, "keywords", ()):
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return node.name


def _read(path: str) -> bytes:
    source = read_regular(path, MAX_SOURCE + 1)
    if len(source) > MAX_SOURCE:
        raise OSError(errno.EFBIG, f"it is longer than {MAX_SOURCE >> 20} MiB", path)
    return source
