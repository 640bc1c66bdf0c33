"""What a session keeps of the configuration: the pins of each of its chapters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import BadInput
from hookline.flows.definitions import Flow
from hookline.flows.gate_plan import gate_settings
from hookline.flows.gating import PINS as GATE_PINS
from hookline.flows.session import session
from hookline.flows.session_state import PINS, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks.standing import Standing

POINTS = (
    "session_start",
    "pre_iteration",
    "post_iteration",
    "session_end",
    "on_error",
)
MAX_PROMPT = 256 * 1024


def session_flow(sections: Any, standing: Standing, root: str) -> Flow:
    """The flow of sessions under a configuration; None is one that says nothing."""
    plan = _plan(sections, standing, root) if sections is not None else _bare(standing)
    gates = msgspec.to_builtins(gate_settings(sections))
    settings = {PINS: msgspec.to_builtins(plan), GATE_PINS: gates}
    return Flow("session", "built-in", "", session, session.__doc__ or "", settings=settings)


def _bare(standing: Standing) -> Plan:
    return Plan(points=_points(standing), limits={"iterations": 20})


def _plan(sections: Any, standing: Standing, root: str) -> Plan:
    given = sections.session
    limits = {
        "iterations": given.iterations,
        **msgspec.to_builtins(given.budget),
        **_numbers(given.guards),
    }
    roles = {
        name: _read(root, profile.prompt)
        for name, profile in sections.agents.items()
        if profile.prompt is not None
    }
    return Plan(
        points=_points(standing),
        limits=limits,
        rules=[msgspec.to_builtins(rule) for rule in sections.validation],
        template=_read(root, given.prompt) if given.prompt is not None else None,
        roles=roles,
        plan=given.plan,
        conversation=given.conversation,
        turn_timeout=given.turn_timeout,
        model_wait=given.model_wait,
        evidence=_wants_evidence(standing),
    )


def _points(standing: Standing) -> list[str]:
    """The points at which some hook may run; an agent's own hooks count for every session."""
    agents = standing.of_agents.values()
    return [
        point
        for point in POINTS
        if standing.hooks_at(point) or any(own.get(point) for own in agents)
    ]


def _wants_evidence(standing: Standing) -> bool:
    scopes: list[Mapping[str, Any]] = [*standing.of_agents.values(), *standing.of_types.values()]
    hooks = [*standing.hooks_at("stop"), *(h for own in scopes for h in own.get("stop", ()))]
    return any("evidence" in msgspec.json.encode(_named(hook)).decode() for hook in hooks)


def _named(hook: Any) -> Any:
    return (hook.target, hook.metadata)


def _numbers(guards: Any) -> dict[str, int]:
    return {name: getattr(guards, name) for name in guards.__struct_fields__}


def _read(root: str, name: str) -> str:
    path = os.path.join(root, name)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_PROMPT + 1)
    except OSError as problem:
        raise BadInput(
            f"the prompt {name} cannot be read: {problem.strerror}",
            help="correct `prompt:` in hookline.yaml, or write the file",
        ) from problem
    if len(data) > MAX_PROMPT:
        raise BadInput(f"the prompt {name} is longer than {MAX_PROMPT:,} bytes")
    return data.decode("utf-8", "replace")
