"""Runs the tests that `init` found once, if a person or a script asked for it.

They are code of the repository: they run in a group that can be killed, with bounded output.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.text.display import untrusted
from hookline.domain.text.excerpts import error_line, last_line
from hookline.files import safe_environment
from hookline.flows.effects import Gated
from hookline.hooks.calls.call import base_environment
from hookline.hooks.kinds.command import SHELL
from hookline.wiring.working.inspection import watched_processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.hooks.runners.folder import Runner
    from hookline.ports.processes import Finished, Processes

TRIAL_SECONDS = 120.0
_SHOWN = 100


class TriedCommand(msgspec.Struct, frozen=True, rename="camel"):
    """How a command ended that was run once."""

    command: str
    exit_code: int
    seconds: float
    timed_out: bool = False
    said: str = ""

    @property
    def passed(self) -> bool:
        """Whether it can be a check of an agent's work."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def told(self) -> str:
        """What happened, in one line."""
        took = f"{self.seconds:.1f} s"
        if self.passed:
            return f"passed in {took}"
        how = f"timed out after {took}" if self.timed_out else f"exit {self.exit_code} after {took}"
        return f"{how}: {self.said}" if self.said else how


def try_tests(
    runners: Sequence[Runner], root: str, environ: Mapping[str, str]
) -> list[TriedCommand]:
    """Run each command once, one after another, as validation would."""
    env = base_environment(safe_environment(environ))
    with watched_processes(environ) as processes:
        return asyncio.run(_tried([each.command for each in runners], root, env, processes))


async def _tried(
    commands: list[str], root: str, env: Mapping[str, str], processes: Processes
) -> list[TriedCommand]:
    found = []
    for command in commands:
        argv = (SHELL, "-c", command)
        # Not before the reaper knows of it: a kill in between would leave it running.
        done = await Gated(processes).run(argv, cwd=root, env=env, timeout=TRIAL_SECONDS)
        found.append(_trial(command, done))
    return found


def _trial(command: str, done: Finished) -> TriedCommand:
    named = error_line(done.stderr, done.stdout) if done.exit_code else ""
    said = untrusted(named or last_line(done.stdout) or last_line(done.stderr), _SHOWN)
    return TriedCommand(command, done.exit_code, round(done.duration, 1), done.timed_out, said)
