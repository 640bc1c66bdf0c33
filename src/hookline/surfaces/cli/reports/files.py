"""Writing a report's page: whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING

from hookline.errors import BadInput
from hookline.files import own_folder, publish
from hookline.surfaces.cli.output import say_bytes
from hookline.wiring.project.stores import prepare_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.app import App

STDOUT = "-"


def write_page(app: App, parts: Iterable[str], name: str, output: str | None) -> str | None:
    """Write a page where the user wants it, else among the reports; its path, None for stdout."""
    if output == STDOUT:
        for part in parts:
            say_bytes(part.encode("utf-8", "replace"))
        return None
    if output:
        _check_place(output, name)
    try:
        return _write(output, parts) if output else _publish(app, name, parts)
    except OSError as problem:
        place = output or os.path.join(app.project.folder, "reports", name)
        raise BadInput(f"cannot write {place}: {problem.strerror}") from problem


def _check_place(path: str, name: str) -> None:
    """Refuse a path that is a folder, or leads through one that is not there."""
    if os.path.isdir(path):
        help = f"name a file in it, such as {os.path.join(path, name)}"
        raise BadInput(f"cannot write {path}: it is a folder", help=help)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        help = f"make it first: `mkdir -p {quote(folder)}`"
        raise BadInput(f"cannot write {path}: there is no folder {folder}", help=help)


def _publish(app: App, name: str, parts: Iterable[str]) -> str:
    """Write the file where reports are kept."""
    prepare_folder(app.project.folder)  # the store may be elsewhere, and nothing here yet
    with own_folder(app.project.folder, "reports") as folder:
        publish(folder, name, "".join(parts).encode("utf-8", "replace"))
    return os.path.join(app.project.folder, "reports", name)


def _write(path: str, parts: Iterable[str]) -> str:
    """Write the file that the user names."""
    whole = "".join(parts)
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8", errors="replace") as file:
            file.write(whole)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return path
