"""What a command is. Each module of this package lists its own in a `COMMANDS` table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
