"""What a command is. Each module of this package lists its own in a `COMMANDS` table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.project import find_project

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable


class Command(NamedTuple):
    """A command: its one-line summary, its arguments, and what it does.

    `run` returns the exit code (None is 0) and raises HooklineError for expected errors.
    Every parser has `--json` already; `run` reads it as `args.json`.
    """

    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int | None]


def no_arguments(parser: ArgumentParser) -> None:
    """For commands that take none."""


def run_argument(p: ArgumentParser, name: str = "run", **how: Any) -> None:
    """The run that a command is about: its id, or its folder."""
    p.add_argument(name, **{"help": "the run, such as R-3, or its folder", **how}, type=run_named)


def run_named(text: str) -> str:
    """The id of the run whose folder a path leads to; any other text as it is."""
    if os.sep not in text:
        return text
    runs = os.path.realpath(find_project(os.getcwd(), os.environ).runs)
    folder = os.path.realpath(text)
    if folder == runs:  # a script that a hook calls finds stdin read, and knows no id
        return os.environ.get("HOOKLINE_RUN_ID", text)
    return os.path.basename(folder) if os.path.dirname(folder) == runs else text
