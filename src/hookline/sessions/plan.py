"""What a session keeps of the configuration: the pins of each of its chapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.flows.definitions.finder import FlowDefinition
from hookline.hooks.builtin.stop.table import STOP_BUILTINS
from hookline.hooks.chains import with_children
from hookline.points import POINTS
from hookline.sessions.loop import session
from hookline.sessions.state import PINS, Plan
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks.scopes import HookScopes

# Goes up when sessions ask for other effects, in another order, or with other texts: the prompts
# are part of what they ask for.
CODE_VERSION = "10"


def session_flow(
    sections: Any, scopes: HookScopes, root: str, pins: Mapping[str, Any] | None = None
) -> FlowDefinition:
    """The flow of sessions under a configuration; None stands for an empty one.

    `pins` is what a chapter keeps for processes that take it over.
    """
    plan = _plan(sections, scopes, root) if sections is not None else _bare(scopes)
    settings = {PINS: msgspec.to_builtins(plan), **(pins or {})}
    about = session.__doc__ or ""
    return FlowDefinition("session", "built-in", CODE_VERSION, session, about, settings=settings)


def _bare(scopes: HookScopes) -> Plan:
    return Plan(points=_points(scopes), limits={"iterations": 20}, evidence=_needs_diff(scopes))


def _plan(sections: Any, scopes: HookScopes, root: str) -> Plan:
    given = sections.session
    limits = {
        "iterations": given.iterations,
        **msgspec.to_builtins(given.budget),
        **{name: getattr(given.guards, name) for name in given.guards.__struct_fields__},
    }
    return Plan(
        points=_points(scopes),
        limits=limits,
        rules=[msgspec.to_builtins(rule) for rule in sections.validation],
        template=prompts.read(root, given.prompt) if given.prompt is not None else None,
        roles=roles(sections, root),
        plan=given.plan,
        conversation=given.conversation,
        turn_timeout=given.turn_timeout,
        model_wait=given.model_wait,
        evidence=_needs_diff(scopes),
    )


def roles(sections: Any, root: str) -> dict[str, str]:
    """The prompt files of agents, by the agents' names."""
    profiles = sections.agents.items() if sections is not None else ()
    named = ((name, profile.prompt) for name, profile in profiles)
    return {name: prompts.read(root, file) for name, file in named if file is not None}


def _points(scopes: HookScopes) -> list[str]:
    """The points at which some hook may run; those of agents and types count for every session."""
    staged = (each.name for each in POINTS.values() if each.stage)
    return [name for name in staged if scopes.all_hooks_at(name)]


def _needs_diff(scopes: HookScopes) -> bool:
    """Whether a stop hook looks at what changed, by itself or in a chain."""
    hooks = with_children([*scopes.hooks_at("stop"), *scopes.all_hooks_at("stop")])
    named = [STOP_BUILTINS.get(hook.target) for hook in hooks if hook.kind == "built-in"]
    return any(each is not None and each.needs_diff for each in named)
