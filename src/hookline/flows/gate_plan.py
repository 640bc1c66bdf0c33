"""What submitting and merging keep of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.submissions import MERGE, SUBMIT, GateSettings
from hookline.flows import prompts
from hookline.flows.definitions import Flow
from hookline.flows.gating import CODE_VERSION, PINS
from hookline.flows.merge import merge
from hookline.flows.submit import submit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def gate_flows(sections: Any, root: str) -> Mapping[str, Callable[[], Flow]]:
    """The two flows under a configuration; None is one that says nothing."""

    def of(name: str, begin: Any) -> Flow:
        settings = gate_settings(sections)
        settings.roles = roles(sections, root)
        pins = {PINS: msgspec.to_builtins(settings)}
        return Flow(name, "built-in", CODE_VERSION, begin, begin.__doc__ or "", settings=pins)

    return {SUBMIT: lambda: of(SUBMIT, submit), MERGE: lambda: of(MERGE, merge)}


def roles(sections: Any, root: str) -> dict[str, str]:
    """What the prompt files of agents say, by the names of the agents."""
    profiles = sections.agents.items() if sections is not None else ()
    return {
        name: prompts.read(root, profile.prompt)
        for name, profile in profiles
        if profile.prompt is not None
    }


def gate_settings(sections: Any) -> GateSettings:
    """The settings of gates under a configuration."""
    if sections is None:
        return GateSettings()
    given = sections.gates
    return GateSettings(
        tries=given.tries,
        turns=given.turns,
        uncommitted=given.uncommitted,
        without_commits=given.without_commits,
        method=given.method,
        merge=given.merge,
        max_wait=given.max_wait,
        test=given.test,
        turn_timeout=sections.session.turn_timeout,
        max_file=given.max_file,
        delete_branch=given.delete_branch,
    )
