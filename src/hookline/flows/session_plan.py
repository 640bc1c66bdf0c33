"""What a session keeps of the configuration: the pins of each of its chapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.flows import prompts
from hookline.flows.definitions import Flow
from hookline.flows.gate_plan import gate_settings, roles
from hookline.flows.gating import PINS as GATE_PINS
from hookline.flows.session import session
from hookline.flows.session_state import PINS, Plan

if TYPE_CHECKING:
    from hookline.hooks.standing import Standing

# Goes up when sessions ask for other effects, for the same ones in another order, or in other
# words: the prompts are part of what they ask for.
CODE_VERSION = "4"
POINTS = (
    "session_start",
    "pre_iteration",
    "post_iteration",
    "session_end",
    "on_error",
)


def session_flow(sections: Any, standing: Standing, root: str) -> Flow:
    """The flow of sessions under a configuration; None is one that says nothing."""
    plan = _plan(sections, standing, root) if sections is not None else _bare(standing)
    gates = msgspec.to_builtins(gate_settings(sections))
    settings = {PINS: msgspec.to_builtins(plan), GATE_PINS: gates}
    return Flow(
        "session", "built-in", CODE_VERSION, session, session.__doc__ or "", settings=settings
    )


def _bare(standing: Standing) -> Plan:
    own_stop = bool(standing.anyones("stop"))
    return Plan(points=_points(standing), limits={"iterations": 20}, own_stop=own_stop)


def _plan(sections: Any, standing: Standing, root: str) -> Plan:
    given = sections.session
    limits = {
        "iterations": given.iterations,
        **msgspec.to_builtins(given.budget),
        **_numbers(given.guards),
    }
    return Plan(
        points=_points(standing),
        limits=limits,
        rules=[msgspec.to_builtins(rule) for rule in sections.validation],
        template=prompts.read(root, given.prompt) if given.prompt is not None else None,
        roles=roles(sections, root),
        plan=given.plan,
        conversation=given.conversation,
        turn_timeout=given.turn_timeout,
        model_wait=given.model_wait,
        evidence=_wants_evidence(standing),
        own_stop=bool(standing.anyones("stop")),
    )


def _points(standing: Standing) -> list[str]:
    """The points at which some hook may run; those of agents and types count for every session."""
    return [point for point in POINTS if standing.anyones(point)]


def _wants_evidence(standing: Standing) -> bool:
    hooks = [*standing.hooks_at("stop"), *standing.anyones("stop")]
    return any("evidence" in msgspec.json.encode(_named(hook)).decode() for hook in hooks)


def _named(hook: Any) -> Any:
    return (hook.target, hook.metadata)


def _numbers(guards: Any) -> dict[str, int]:
    return {name: getattr(guards, name) for name in guards.__struct_fields__}
