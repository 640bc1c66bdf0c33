"""Commands in the background, each with its own supervisor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.processes.detached import leave_parent as leave_parent
from hookline.adapters.processes.detached import run_watched, start_detached
from hookline.adapters.processes.identity import is_alive
from hookline.errors import BadInput
from hookline.files import open_to_append
from hookline.programs import own_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.ports.processes import ProcessGroup
    from hookline.project import Project

_SUPERVISOR = "hookline.operations.sessions.supervision"


class Detached(NamedTuple):
    """A command in the background: its supervisor, and the file that holds what it prints."""

    process: ProcessGroup | None
    log: str

    @property
    def is_alive(self) -> bool:
        """Whether the supervisor still runs."""
        return self.process is not None and is_alive(self.process)


def log_of(project: Project, name: str) -> str:
    """The file that holds what a command in the background prints."""
    return os.path.join(project.folder, "logs", f"{name}.log")


def prepare_log(project: Project, name: str) -> str:
    """The log of a command in the background, made if need be; BadInput if it is not a file."""
    log = log_of(project, name)
    try:
        os.close(open_to_append(log))
    except OSError as problem:
        raise BadInput(f"cannot write {log}: {problem.strerror}", help="remove it") from problem
    return log


def start(project: Project, words: Sequence[str], name: str, env: Mapping[str, str]) -> Detached:
    """Run a command of Hookline in the background, watched over."""
    log = prepare_log(project, name)
    argv = own_program(_SUPERVISOR, project.root, *words)
    return Detached(start_detached(argv, cwd=project.root, env=env, log=log), log)


def run_command(root: str, words: Sequence[str]) -> int:
    """Run a command of Hookline to its end; a negative code is the signal that killed it."""
    return run_watched(own_program("hookline", *words), cwd=root)
