"""The built-in gates by name, and how one is asked."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.forge import ForgeError, ForgeTemporary
from hookline.domain.payloads import GateContext
from hookline.domain.repository import RepositoryError
from hookline.errors import BadInput, HookFailure, HookTimeout
from hookline.hooks.builtin.gates_arguments import GATE_ARGUMENTS
from hookline.hooks.builtin.gates_branch import create_pr, rebase_on_main
from hookline.hooks.builtin.gates_checks import ci_status, lint, run_tests
from hookline.hooks.builtin.gates_common import Judging, pause_until, told, waiting
from hookline.hooks.builtin.gates_contents import diff_limits, secrets
from hookline.hooks.builtin.gates_keepers import gatekeeper
from hookline.hooks.builtin.gates_people import human
from hookline.hooks.builtin.gates_reviews import reviews
from hookline.hooks.builtin.stop_context import read_arguments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.answers import GateAnswer
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

GATES: dict[str, Callable[[Judging], Awaitable[GateAnswer]]] = {
    "rebase_on_main": rebase_on_main,
    "run_tests": run_tests,
    "create_pr": create_pr,
    "lint": lint,
    "secrets": secrets,
    "diff_limits": diff_limits,
    "ci_status": ci_status,
    "gatekeeper": gatekeeper,
    "human": human,
    "reviews": reviews,
}
# What these start ends at its own limit, and tells what it had said until then.
_KEEP_TIME = frozenset({"run_tests", "lint", "gatekeeper"})
FORGE_WAIT = 30.0


async def judge(hook: Hook, call: Call, world: World) -> GateAnswer:
    """Ask a built-in gate; a HookFailure where it could not judge."""
    judging = _judging(hook, call, world)
    # Acts on git and the forge have limits of their own; a gate only where it was given one.
    limit = None if hook.target in _KEEP_TIME else hook.timeout
    try:
        async with asyncio.timeout(limit) as deadline:
            return await GATES[hook.target](judging)
    except TimeoutError as late:
        if not deadline.expired():
            raise
        raise HookTimeout(f"timed out after {limit or 0:g} s") from late
    except ForgeTemporary as later:
        return waiting(later.message, "forge", pause_until(later.until, FORGE_WAIT))
    except (RepositoryError, ForgeError, BadInput) as problem:
        raise HookFailure(told(problem)) from problem


def _judging(hook: Hook, call: Call, world: World) -> Judging:
    try:
        context = msgspec.json.decode(call.payload, type=GateContext)
        arguments = read_arguments(GATE_ARGUMENTS[hook.target], hook.metadata.get("arguments"))
    except msgspec.ValidationError as problem:
        raise HookFailure(f"this is nothing that a gate can judge: {problem}") from problem
    except BadInput as problem:
        raise HookFailure(f"{hook.target}: {problem.message}") from problem
    # Without its worktree the hook would be run in the project's folder, on other work.
    if not os.path.isdir(context.worktree):
        raise HookFailure(f"the worktree {context.worktree} is gone")
    return Judging(hook, context, arguments, call, world)
