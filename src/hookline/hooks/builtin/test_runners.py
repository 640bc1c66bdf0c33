"""How a project's tests and linter are found by its files, and run.

A project whose runner is not installed is a failure and no reason to run something else, because
that would pass work which nobody has tested.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.errors import BadInput, HookFailure, HookTimeout
from hookline.hooks.builtin.gates_runners import TEST_RUNNERS
from hookline.hooks.kinds.program import NOT_FOUND, check_exit, failure
from hookline.hooks.projectfiles import files_like, read_file
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.hooks.builtin.gates_runners import Line, Runner
    from hookline.ports.processes import Finished, Processes, ProcessGroup

TEST_TIMEOUT = 1800.0
PROBE_TIMEOUT = 30.0
MAX_READ = 1 << 20
SHELL = "/bin/sh"
# It only looks where the module would be, and does not import it.
_HAS_MODULE = "import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)"


class Found(msgspec.Struct, frozen=True):
    """The command of a project, the file that told of it, and what else would have been there."""

    argv: tuple[str, ...]
    source: str
    nothing: int | None = None
    others: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command as a person would type it."""
        return " ".join(self.argv)


class Tested(msgspec.Struct, frozen=True):
    """How a project's own check went; `empty` if it found nothing to look at.

    `source` is the file that told of it, if one did.
    """

    command: str
    passed: bool
    output: str
    empty: bool = False
    others: tuple[str, ...] = ()
    source: str | None = None


class Limits(NamedTuple):
    """How long a check may take, and who wants to know its process group."""

    timeout: float = TEST_TIMEOUT
    on_start: Callable[[ProcessGroup], None] | None = None


# Finding.


async def find_runner(
    table: Sequence[Runner], folder: str, processes: Processes, env: Mapping[str, str]
) -> Found | None:
    """The command of the first row that holds; None if none does.

    Raises HookFailure if its program is not there.
    """
    search = _Search(folder, processes, env)
    rows = [(row, await search.argv(row)) for row in table if _holds(row, folder)]
    rows = [(row, argv) for row, argv in rows if argv is not None or not row.hint]
    if not rows:
        return None
    row, argv = rows[0]
    if argv is None:
        words = " ".join(row.lines[-1].words.split())
        message = f"{row.file} tells of `{words}`, which is not installed"
        raise HookFailure(message, exit_code=NOT_FOUND)
    others = [f"{' '.join(a)} ({r.file})" for r, a in rows if a is not None and a != argv]
    return Found(argv, row.file, row.nothing, tuple(dict.fromkeys(others)))


def tells_of_tests(folder: str) -> bool:
    """Whether the files of a folder tell of tests, whatever is installed."""
    return any(_holds(row, folder) for row in TEST_RUNNERS)


def _holds(row: Runner, folder: str) -> bool:
    try:
        names = files_like(folder, row.file)
        if not names or row.hint:
            return bool(names)
        return row.holds(read_file(folder, names[0], MAX_READ).decode("utf-8", "replace"))
    except BadInput:  # leads elsewhere, is no file, or is too long to tell
        return False


class _Search:
    """Looks for programs as the processes of one folder would find them."""

    def __init__(self, folder: str, processes: Processes, env: Mapping[str, str]) -> None:
        self._folder, self._processes, self._env = folder, processes, env
        self._modules: dict[str, bool] = {}

    async def argv(self, row: Runner) -> tuple[str, ...] | None:
        """The first command of a row that can be started."""
        for line in row.lines:
            if await self._runs(line):
                return tuple(line.words.split())
        return None

    async def _runs(self, line: Line) -> bool:
        if line.file is not None and not os.path.isfile(os.path.join(self._folder, line.file)):
            return False
        program = line.program or line.words.split()[0]
        if "/" in program:
            return os.access(os.path.join(self._folder, program), os.X_OK)
        if shutil.which(program, path=self._env.get("PATH")) is None:
            return False
        return line.module is None or await self._imports(program, line.module)

    async def _imports(self, python: str, module: str) -> bool:
        if module not in self._modules:
            argv = (python, "-c", _HAS_MODULE, module)
            done = await self._processes.run(
                argv, cwd=self._folder, env=self._env, timeout=PROBE_TIMEOUT
            )
            self._modules[module] = done.exit_code == 0
        return self._modules[module]


# Running.


async def run_line(
    line: str,
    folder: str,
    processes: Processes,
    env: Mapping[str, str],
    limits: Limits,
    shown: str | None = None,
) -> Tested:
    """Run a shell line; `shown` is how it stands in the configuration."""
    done = await _run((SHELL, "-c", line), folder, processes, env, limits)
    return Tested(shown or line, done.exit_code == 0, _output(done))


async def run_found(
    found: Found, folder: str, processes: Processes, env: Mapping[str, str], limits: Limits
) -> Tested:
    """Run what was found."""
    done = await _run(found.argv, folder, processes, env, limits)
    empty = done.exit_code != 0 and done.exit_code == found.nothing
    return Tested(
        found.command,
        done.exit_code == 0 or empty,
        _output(done),
        empty,
        found.others,
        found.source,
    )


async def _run(
    argv: tuple[str, ...],
    folder: str,
    processes: Processes,
    env: Mapping[str, str],
    limits: Limits,
) -> Finished:
    shown = " ".join(argv[2:] if argv[0] == SHELL else argv)
    try:
        done = await processes.run(
            argv, cwd=folder, env=env, timeout=limits.timeout, on_start=limits.on_start
        )
    except CannotStart as problem:
        raise HookFailure(str(problem), exit_code=NOT_FOUND) from problem
    if done.timed_out:
        raise HookTimeout(
            f"`{shown}` timed out after {limits.timeout:g} s",
            stdout=done.stdout,
            stderr=done.stderr,
        )
    if done.exit_code < 0:
        raise failure(f"`{shown}` was killed by signal {-done.exit_code}", done)
    check_exit(done)
    return done


def _output(done: Finished) -> str:
    return "\n".join(part for part in (done.stdout.rstrip(), done.stderr.rstrip()) if part)
