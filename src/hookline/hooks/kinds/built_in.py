"""Built-in hooks that are listed by name, single ones and chains."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.hooks.records import SKIPPED, Outcome, Reply
from hookline.errors import HookFailure, HookTimeout
from hookline.hooks.builtin import CHAINS, NOTIFY
from hookline.hooks.builtin.gates.arguments import GATE_ARGUMENTS
from hookline.hooks.builtin.stop.chains import escalates, fold_chain
from hookline.hooks.builtin.stop.table import STOP_PRESETS
from hookline.hooks.chains import children_of
from hookline.hooks.registry import NOTHING

if TYPE_CHECKING:
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

# No key has this kind's name: built-in hooks are listed by their own names.
VALUE = None
RUNS = NOTHING
CLEANS = KEEPS_TIME = True
MAX_OUTPUT = 32 * 1024


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Run the built-in of that name."""
    if hook.target in CHAINS:
        return await _run_chain(hook, world)
    if hook.target in GATE_ARGUMENTS:
        # Gates import git, forges and agents, which most hooks do not need.
        from hookline.hooks.builtin.gates.table import ask_gate

        return Reply(answer=await ask_gate(hook, call, world))
    if hook.target == NOTIFY:
        # Channels import what talks to programs and servers.
        from hookline.hooks.builtin.notify.channels import notify

        return await notify(hook, call, world)
    preset = STOP_PRESETS.get(hook.target)
    if preset is None:
        raise HookFailure(f"the built-in '{hook.target}' cannot run in this version")
    answer = preset(msgspec.json.decode(call.payload), hook.metadata.get("arguments"))
    return Reply(answer=answer)


async def _run_chain(hook: Hook, world: World) -> Reply:
    limit = hook.timeout  # each hook has its own timeout; a chain has one only if configured
    try:
        async with asyncio.timeout(limit):
            called = await _ask(hook, world)
    except TimeoutError as late:
        raise HookTimeout(f"timed out after {limit or 0:g} s") from late
    return Reply(answer=fold_chain(hook.target, called), text=_said(called))


async def _ask(hook: Hook, world: World) -> list[tuple[Hook, Outcome]]:
    """Ask the hooks one after the other, until one escalates."""
    called: list[tuple[Hook, Outcome]] = []
    for child in children_of(hook):
        outcome = await world.ask(child) if child.enabled else Outcome(child.name, SKIPPED)
        called.append((child, outcome))
        if escalates(outcome):
            break
    return called


def _said(called: list[tuple[Hook, Outcome]]) -> str:
    """What the hooks printed, each under its name, for the record."""
    share = MAX_OUTPUT // max(len(called), 1)
    parts = [(hook.name, outcome.stdout + outcome.stderr) for hook, outcome in called]
    return "\n".join(f"[{name}]\n{text[-share:]}" for name, text in parts if text)
