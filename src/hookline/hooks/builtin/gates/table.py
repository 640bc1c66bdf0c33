"""The built-in gates by name, and how one is asked."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.domain.payloads import GateContext
from hookline.domain.work.forge import ForgeError, ForgeTemporary
from hookline.domain.work.repository import RepositoryError
from hookline.errors import BadInput, HookFailure, HookTimeout
from hookline.hooks.builtin.gates import branch, checks, contents, keepers, people
from hookline.hooks.builtin.gates.arguments import GATE_ARGUMENTS
from hookline.hooks.builtin.gates.common import (
    EarlyAnswer,
    Judging,
    pause_until,
    refused,
    told,
    waiting,
)
from hookline.hooks.builtin.stop.context import read_arguments
from hookline.hooks.gates.verdicts import FORGE_FAILED, NO_VERDICT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.hooks.answers import GateAnswer
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

GATES: dict[str, Callable[[Judging], Awaitable[GateAnswer]]] = {
    name: gate
    for module in (branch, checks, contents, keepers, people)
    for name, gate in vars(module).items()
    if name in GATE_ARGUMENTS and getattr(gate, "__module__", None) == module.__name__
}
# What these start has its own time limit, and then reports its output so far.
_KEEP_TIME = frozenset({"run_tests", "lint", "gatekeeper"})
# They compare the work with its base, and whoever works here can move what is known of the remote.
_COMPARE = frozenset({"secrets", "diff_limits", "gatekeeper"})
FORGE_WAIT = 30.0


async def ask_gate(hook: Hook, call: Call, world: World) -> GateAnswer:
    """Ask a built-in gate; a HookFailure where it could not decide."""
    judging = _judging(hook, call, world)
    # Calls of git and the forge have their own time limits; a gate has one only if configured.
    limit = None if hook.target in _KEEP_TIME else hook.timeout
    try:
        async with asyncio.timeout(limit) as deadline:
            if hook.target in _COMPARE:
                await judging.repository.bases.head(judging.context.base_branch)
            return await GATES[hook.target](judging)
    except EarlyAnswer as early:
        return early.answer
    except TimeoutError as late:
        if not deadline.expired():
            raise
        raise HookTimeout(f"timed out after {limit or 0:g} s") from late
    except ForgeTemporary as later:
        return waiting(later.message, "forge", pause_until(later.until, FORGE_WAIT))
    except ForgeError as problem:
        return refused(told(problem), None, {NO_VERDICT: True, FORGE_FAILED: True})
    except (RepositoryError, BadInput) as problem:
        raise HookFailure(told(problem)) from problem


def _judging(hook: Hook, call: Call, world: World) -> Judging:
    try:
        context = typed.decode(call.payload, GateContext)
        arguments = read_arguments(GATE_ARGUMENTS[hook.target], hook.metadata.get("arguments"))
    except msgspec.ValidationError as problem:
        raise HookFailure(f"a gate cannot read its context: {problem}") from problem
    except BadInput as problem:
        raise HookFailure(f"{hook.target}: {problem.message}") from problem
    # Without its worktree the hook would be run in the project's folder, on other work.
    if not os.path.isdir(context.worktree):
        raise HookFailure(f"the worktree {context.worktree} is gone")
    return Judging(hook, context, arguments, call, world)
