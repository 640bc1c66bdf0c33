"""Hookline's own flows: the session, and the two that take its work to the base branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.work.submissions import MERGE, SUBMIT, GateSettings
from hookline.flows.definitions.finder import FlowDefinition
from hookline.flows.own_flows import OwnFlow, OwnFlows
from hookline.hooks.gates.verdicts import asked_person
from hookline.pipeline import gate_verbs
from hookline.pipeline.gated_work import PINS
from hookline.pipeline.gating import CODE_VERSION
from hookline.pipeline.merge import merge
from hookline.pipeline.submit import submit
from hookline.sessions import ending
from hookline.sessions.plan import roles, session_flow
from hookline.sessions.state import origin_of
from hookline.sessions.verbs import performer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.domain.runs.model import Run
    from hookline.hooks.scopes import HookScopes
    from hookline.ports.store import View


def _asks_person(view: View, run: Run) -> bool:
    return asked_person(view, run) is not None


OWN_FLOWS = OwnFlows(
    {
        SESSION: OwnFlow(
            performer(gate_verbs.submit_session), origin_of, ending.asks_person, ending.break_off
        ),
        SUBMIT: OwnFlow(gate_verbs.perform, asks_person=_asks_person),
        MERGE: OwnFlow(gate_verbs.perform, asks_person=_asks_person),
    }
)


def own_flows(
    sections: Any, scopes: HookScopes, root: str
) -> Mapping[str, Callable[[], FlowDefinition]]:
    """The flows under a configuration; None stands for an empty one."""

    def of(name: str, begin: Any) -> FlowDefinition:
        settings = gate_settings(sections)
        settings.roles = roles(sections, root)
        pins = {PINS: msgspec.to_builtins(settings)}
        return FlowDefinition(
            name, "built-in", CODE_VERSION, begin, begin.__doc__ or "", settings=pins
        )

    def session() -> FlowDefinition:
        pins = {PINS: msgspec.to_builtins(gate_settings(sections))}
        return session_flow(sections, scopes, root, pins)

    return {SESSION: session, SUBMIT: lambda: of(SUBMIT, submit), MERGE: lambda: of(MERGE, merge)}


def gate_settings(sections: Any) -> GateSettings:
    """The settings of gates under a configuration."""
    if sections is None:
        return GateSettings()
    settings = typed.convert(sections.gates, GateSettings, from_attributes=True)
    settings.turn_timeout = sections.session.turn_timeout
    return settings
