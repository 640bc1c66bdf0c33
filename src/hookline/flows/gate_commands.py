"""The lines that gates run, for agents that want to know before the gates do."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.errors import HookFailure
from hookline.hooks.builtin.gates_runners import LINTERS, TEST_RUNNERS
from hookline.hooks.builtin.test_runners import find_runner
from hookline.hooks.gate_reports import command_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.flows.effects import Surroundings
    from hookline.hooks.registry import Hook

RUNNERS = {"run_tests": TEST_RUNNERS, "lint": LINTERS}


def runs_programs(hook: Hook) -> bool:
    """Whether a hook starts programs, which may run what the work brings."""
    return hook.kind != "built-in" or hook.target in RUNNERS


async def commands_of(hooks: Iterable[Hook], folder: str, around: Surroundings) -> list[str]:
    """The lines with which an agent can run gates itself, those that are found included."""
    lines: list[str | None] = []
    for hook in hooks:
        context: dict[str, Any] = {}
        if hook.kind == "built-in" and hook.target in RUNNERS:
            with suppress(HookFailure):  # the gate tells of it
                context = {"command": await runner_line(hook, folder, around)}
        lines.append(command_of(hook, context))
    return list(dict.fromkeys(line for line in lines if line is not None))


async def runner_line(hook: Hook, folder: str, around: Surroundings) -> str | None:
    """What tests or lints the work: the line that is configured, or that its files tell of.

    Raises HookFailure if the program that they tell of is not there.
    """
    line: str | None = (hook.metadata.get("arguments") or {}).get("command")
    if line is not None:
        return line
    found = await find_runner(RUNNERS[hook.target], folder, around.processes, around.environ)
    return found.command if found is not None else None
