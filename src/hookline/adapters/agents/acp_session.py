"""A conversation by the Agent Client Protocol: how it is begun or resumed, and set up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from hookline.ports.agents import ToolServer

SERVER_NAME = "hookline"


class Capabilities(msgspec.Struct, rename="camel"):
    """What an agent can do with conversations."""

    load_session: bool = False
    session_capabilities: dict[str, Any] | None = None


class Login(msgspec.Struct):
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
    auth_methods: list[Login] | None = None
    agent_info: AgentName | None = None

    @property
    def logins(self) -> list[str]:
        """The ways to log in, as the agent words them."""
        return [login.description or login.name for login in self.auth_methods or ()]

    @property
    def is_opencode(self) -> bool:
        """Whether this is OpenCode."""
        return self.agent_info is not None and self.agent_info.name.lower() == "opencode"

    @property
    def resuming(self) -> str | None:
        """The method that goes on with a conversation; the one that replays nothing is better."""
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
    """Where a conversation takes place, and the tools that it brings along."""
    servers = []
    if tools is not None:
        program, *arguments = tools.argv
        env = [{"name": name, "value": value} for name, value in tools.env.items()]
        servers = [{"name": SERVER_NAME, "command": program, "args": arguments, "env": env}]
    return {"cwd": folder, "mcpServers": servers}


def worded(prompt: str) -> str:
    """The prompt as text; one that begins with a path must not be taken for a /command."""
    first = prompt.split(maxsplit=1)[0] if prompt.strip() else ""
    if first.startswith("/") and not first[1:].replace("-", "").replace("_", "").isalnum():
        prompt = f"The task: {prompt}"
    return prompt.encode("utf-8", "replace").decode()
