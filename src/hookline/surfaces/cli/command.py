"""What a command is. Each module of this package lists its own in a `COMMANDS` table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.immutable import Immutable
from hookline.project import find_project

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable


class Command(Immutable):
    """A command: its one-line summary, its arguments, and what it does.

    `run` returns the exit code (None is 0) and raises HooklineError for expected errors.
    Every parser has `--json` already; `run` reads it as `args.json`.
    """

    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int | None]


def no_arguments(parser: ArgumentParser) -> None:
    """For commands that take none."""


class WorkName(str):
    """A typed id, or another name of the same piece of work."""

    letter = ""

    def meant(self) -> str:
        """The id that is meant; the text as it is if nothing has that name."""
        text = str(self)
        digits = text[2:] if text[:2].upper() == f"{self.letter}-" else text
        if digits.isdecimal() or not text.strip():
            return text
        from hookline.queries import references  # few commands are called like that
        from hookline.surfaces.cli.opening import reading

        find = references.task_meant if self.letter == "T" else references.run_meant
        with reading() as app, app.read() as view:
            return find(view, text)


class TaskName(WorkName):
    """A typed task: its id, or the name or run of a session that works on it."""

    letter = "T"


class RunName(WorkName):
    """A typed run: its id, the name of its session, or the task that it works on."""

    letter = "R"


def task_argument(p: ArgumentParser, name: str = "task", **how: Any) -> None:
    """The task that a command is about."""
    how = {"help": "the task, such as T-12, or its session", **how}
    p.add_argument(name, **how, type=TaskName)


def agent_argument(p: ArgumentParser) -> None:
    """Whose work it is, where that is not known or shall be another."""
    p.add_argument(
        "--agent", metavar="NAME", help="the agent profile (default: the one that did the work)"
    )


def run_argument(p: ArgumentParser, name: str = "run", **how: Any) -> None:
    """The run that a command is about: its id, its folder, or what it works on."""
    how = {"help": "the run, such as R-3, its folder, its session or its task", **how}
    p.add_argument(name, **how, type=run_name)


def run_name(text: str) -> RunName:
    """A run as it is typed: its folder, or one of its names."""
    return RunName(run_of_folder(text))


def run_of_folder(text: str) -> str:
    """The id of the run whose folder a path leads to; any other text as it is."""
    if os.sep not in text:
        return text
    runs = os.path.realpath(find_project(os.getcwd(), os.environ).runs)
    folder = os.path.realpath(text)
    if folder == runs:  # a script that a hook calls finds stdin read, and knows no id
        return os.environ.get("HOOKLINE_RUN_ID", text)
    return os.path.basename(folder) if os.path.dirname(folder) == runs else text
