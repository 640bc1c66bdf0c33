"""The lines that gates run: the configured ones, or those that the project's files show.

If a project's runner is not installed, the gate fails and nothing else is run instead, because
that would pass untested work.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import HookFailure
from hookline.hooks.calls.program import NOT_FOUND
from hookline.hooks.runners.search import LINTERS, TESTS, find_runners
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.hooks.registry import Hook
    from hookline.hooks.runners.folder import Runner
    from hookline.hooks.runners.search import RunnerTable
    from hookline.ports.processes import Processes

TEST_TIMEOUT = 1800.0
PROBE_TIMEOUT = 30.0
RUNNERS = {"run_tests": TESTS, "lint": LINTERS}
# It only looks where the module would be, and does not import it.
_HAS_MODULE = "import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)"


class DetectedTests(msgspec.Struct, frozen=True):
    """A shell line that tests the work, the file that shows it, and the other candidates.

    A configured line has no file; `nothing` is as in a `Runner`. `shown` is the line as a person
    would type it.
    """

    line: str
    shown: str
    source: str | None = None
    nothing: int | None = None
    others: tuple[str, ...] = ()


async def find_runner(
    table: RunnerTable, folder: str, processes: Processes, env: Mapping[str, str]
) -> DetectedTests | None:
    """The line that runs all that a folder's files show; None if they show nothing.

    Raises HookFailure if a program is not there.
    """
    found = find_runners(table, folder, env.get("PATH"))
    if not found.chosen:
        return None
    runners = [await _startable(each, folder, processes, env) for each in found.chosen]
    others = (f"{each.command} ({each.source})" for each in found.others if not each.missing)
    line = _together(runners)
    nothing = runners[0].nothing if len(runners) == 1 else None
    return DetectedTests(line, line, runners[0].source, nothing, tuple(dict.fromkeys(others)))


def _together(runners: Sequence[Runner]) -> str:
    if len(runners) == 1:
        return runners[0].command
    return " && ".join(f"({each.command})" for each in runners)


async def _startable(
    runner: Runner, folder: str, processes: Processes, env: Mapping[str, str]
) -> Runner:
    """The runner, or the module of this Python in its place if the program is missing."""
    if runner.missing is None:
        return runner
    if runner.module is not None:
        argv = ("python3", "-c", _HAS_MODULE, runner.module)
        with suppress(CannotStart):
            done = await processes.run(argv, cwd=folder, env=env, timeout=PROBE_TIMEOUT)
            if done.exit_code == 0:
                return msgspec.structs.replace(runner, line=f"python3 -m {runner.line}")
    message = f"{runner.source} asks for `{runner.line}`, which is not installed"
    raise HookFailure(message, exit_code=NOT_FOUND)


def shows_tests(folder: str) -> bool:
    """Whether the files of a folder show a test runner, installed or not."""
    return bool(find_runners(TESTS, folder, None).chosen)


# For agents that want to know before the gates do.


def runs_programs(hook: Hook) -> bool:
    """Whether a hook starts programs, which may run code from the work."""
    return hook.kind != "built-in" or hook.target in RUNNERS


async def runner_line(
    hook: Hook, folder: str, processes: Processes, environ: Mapping[str, str]
) -> str | None:
    """What tests or lints the work: the configured line, or the one found by its files.

    Raises HookFailure if that program is not installed.
    """
    line: str | None = (hook.metadata.get("arguments") or {}).get("command")
    if line is not None:
        return line
    found = await find_runner(RUNNERS[hook.target], folder, processes, environ)
    return found.shown if found is not None else None
