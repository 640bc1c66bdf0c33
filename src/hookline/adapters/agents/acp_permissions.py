"""What an agent may do, by the Agent Client Protocol: answers to its questions, and its modes.

That an agent is read-only rests on its asking before it changes something, and on its naming
truly what it is about to do. Where an agent has a mode in which it cannot change anything, it is
put into that one: Codex has one; OpenCode, which asks nothing by default, is given one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HARMLESS = frozenset({"read", "search", "fetch", "think"})
OPENCODE_READER = "hookline-read-only"
READ_ONLY_MODES = (OPENCODE_READER, "read-only")

_OPENCODE = "OPENCODE_CONFIG_CONTENT"
_OPENCODE_LOOKING = "read grep glob list lsp codesearch webfetch websearch external_directory"
_PREFERENCE = {
    "allow": ("allow_once", "allow_always"),
    "always": ("allow_always", "allow_once"),
    "reject": ("reject_once", "reject_always"),
}


class Option(msgspec.Struct, rename="camel"):
    """One of the answers that an agent takes."""

    option_id: str
    kind: str = ""


def verdict(permissions: str, kind: str) -> str:
    """allow, always or reject: what an agent of these permissions hears about a kind of tool."""
    if permissions == "full":
        return "always"
    if permissions == "work" or kind in HARMLESS:
        return "allow"
    return "reject"


def answer(wanted: str, options: Sequence[Option]) -> dict[str, Any]:
    """The answer to a question for permission; without a fitting option it is not given."""
    for kind in _PREFERENCE[wanted]:
        for option in options:
            if option.kind == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.option_id}}
    return cancelled()


def cancelled() -> dict[str, Any]:
    """The answer to a question that nobody will decide any more."""
    return {"outcome": {"outcome": "cancelled"}}


def read_only_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment, with an agent for OpenCode that looks at everything and changes nothing.

    An agent of its own, because a project's configuration of the usual ones would beat the
    permissions of all. Other programs do not read the variable.
    """
    config = _decoded(env.get(_OPENCODE, ""))
    agents = config.get("agent")
    looking = dict.fromkeys(_OPENCODE_LOOKING.split(), "allow")
    reader = {
        "mode": "primary",
        "description": "Looks at everything and changes nothing.",
        "permission": {"*": "deny", **looking},
    }
    known = agents if isinstance(agents, dict) else {}
    config["agent"] = {**known, OPENCODE_READER: reader}
    return {**env, _OPENCODE: msgspec.json.encode(config).decode()}


def _decoded(text: str) -> dict[str, Any]:
    config = msgspec.json.decode(text) if text.strip() else {}
    if not isinstance(config, dict):
        raise msgspec.ValidationError(f"{_OPENCODE} is no object")
    return config
