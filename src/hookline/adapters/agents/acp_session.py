"""A conversation by the Agent Client Protocol: how it is begun or resumed, set up, and what an
agent may do in it.

That an agent is read-only rests on its asking before it changes something, and on its naming
truly what it is about to do. Where an agent has a mode in which it cannot change anything, it is
put into that one: Codex has one; OpenCode, which asks nothing by default, is given one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.ports.agents import ToolServer

SERVER_NAME = "hookline"
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


class Capabilities(msgspec.Struct, rename="camel"):
    """What an agent can do with conversations."""

    load_session: bool = False
    session_capabilities: dict[str, Any] | None = None


class LoginMethod(msgspec.Struct):
    """A way to log in."""

    name: str = ""
    description: str | None = None


class AgentName(msgspec.Struct):
    """What the agent calls itself."""

    name: str = ""


class Introduced(msgspec.Struct, rename="camel"):
    """What an agent says of itself at first."""

    protocol_version: int
    agent_capabilities: Capabilities | None = None
    auth_methods: list[LoginMethod] | None = None
    agent_info: AgentName | None = None

    @property
    def logins(self) -> list[str]:
        """The ways to log in, as the agent words them."""
        return [login.description or login.name for login in self.auth_methods or ()]

    @property
    def resuming(self) -> str | None:
        """The method that resumes a conversation, preferably without replaying it."""
        able = self.agent_capabilities or Capabilities()
        if (able.session_capabilities or {}).get("resume") is not None:
            return "session/resume"
        return "session/load" if able.load_session else None


class Choice(msgspec.Struct, rename="camel"):
    """Something that can be chosen, by whichever name its list gives it, or a group of such."""

    id: str | None = None
    value: str | None = None
    model_id: str | None = None
    options: list[Choice] | None = None

    @property
    def key(self) -> str:
        """Its name."""
        return self.id or self.value or self.model_id or ""


class Setting(msgspec.Struct, rename="camel"):
    """An option of a conversation, and what it can be set to."""

    id: str
    category: Any = None
    options: list[Choice] | None = None

    @property
    def values(self) -> list[str]:
        """What it can be set to, groups or not."""
        groups = [choice.options or [choice] for choice in self.options or ()]
        return [choice.key for group in groups for choice in group]


class Modes(msgspec.Struct, rename="camel"):
    """The modes that an agent can be in."""

    available_modes: list[Choice] = []


class Models(msgspec.Struct, rename="camel"):
    """The models that an agent can use."""

    available_models: list[Choice] = []


class Opened(msgspec.Struct, rename="camel"):
    """A conversation as the agent opened it."""

    session_id: str = ""
    config_options: list[Setting] | None = None
    modes: Modes | None = None
    models: Models | None = None

    @property
    def has_no_model(self) -> bool:
        """Whether the model can be chosen, and there is none: nobody is logged in anywhere."""
        settings = [each for each in self.config_options or () if each.category == "model"]
        return bool(settings) and not any(each.values for each in settings)

    def choices(self, what: str) -> dict[str, tuple[str, dict[str, str]]]:
        """What the mode or the model can be, each with the request that sets it."""
        found: dict[str, tuple[str, dict[str, str]]] = {}
        for mode in self.modes.available_modes if self.modes and what == "mode" else ():
            found[mode.key] = ("session/set_mode", {"modeId": mode.key})
        for model in self.models.available_models if self.models and what == "model" else ():
            found[model.key] = ("session/set_model", {"modelId": model.key})
        for setting in self.config_options or ():
            if what in (setting.category, setting.id):
                for value in setting.values:
                    params = {"configId": setting.id, "value": value}
                    found[value] = ("session/set_config_option", params)
        return found


def place(folder: str, tools: ToolServer | None) -> dict[str, Any]:
    """Where a conversation takes place, and the tools it gets."""
    servers = []
    if tools is not None:
        program, *arguments = tools.argv
        passed = {**tools.secrets, **tools.env}
        env = [{"name": name, "value": value} for name, value in passed.items()]
        servers = [{"name": SERVER_NAME, "command": program, "args": arguments, "env": env}]
    return {"cwd": folder, "mcpServers": servers}


def worded(prompt: str) -> str:
    """The prompt as text; one that begins with a path must not be taken for a /command."""
    first = prompt.split(maxsplit=1)[0] if prompt.strip() else ""
    if first.startswith("/") and not first[1:].replace("-", "").replace("_", "").isalnum():
        prompt = f"The task: {prompt}"
    return prompt.encode("utf-8", "replace").decode()


class PermissionOutcome(msgspec.Struct, rename="camel", omit_defaults=True):
    """How a question for permission was decided."""

    outcome: str
    option_id: str | None = None


class Permission(msgspec.Struct):
    """The answer to such a question."""

    outcome: PermissionOutcome


class Option(msgspec.Struct, rename="camel"):
    """One of the answers that an agent takes."""

    option_id: str
    kind: str = ""


def verdict(permissions: str, kind: str) -> str:
    """allow, always or reject: what an agent of these permissions hears about a kind of tool."""
    if permissions == "full":
        return "always"
    return "allow" if permissions == "work" or kind in HARMLESS else "reject"


def answer(wanted: str, options: Sequence[Option]) -> Permission:
    """The answer to a question for permission; without a fitting option it is not given."""
    for kind in _PREFERENCE[wanted]:
        for option in options:
            if option.kind == kind:
                return Permission(PermissionOutcome("selected", option.option_id))
    return cancelled()


def cancelled() -> Permission:
    """The answer to a question that will not be decided any more."""
    return Permission(PermissionOutcome("cancelled"))


def read_only_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment, with an agent for OpenCode that looks at everything and changes nothing.

    A separate agent, because a project's configuration of the usual ones would beat the
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
        raise msgspec.ValidationError(f"{_OPENCODE} is not an object")
    return config
