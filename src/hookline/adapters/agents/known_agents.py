"""The agents that Hookline knows: how each is installed, how to log in, and what it reports."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hookline.ports.agents import Reports

Version = tuple[int, int, int]


class KnownAgent(NamedTuple):
    """An agent: what people call it, its program and package, and the command to log in.

    `minimum` is the oldest version that was seen to work, `variable` the one that holds its key,
    `reports` what its turns say that they cost.
    """

    title: str
    program: str = ""
    package: str = ""
    login: str = ""
    minimum: Version = (0, 0, 0)
    variable: str = ""
    reports: Reports | None = None

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"npm install -g {self.package}" if self.package else ""


CLAUDE = KnownAgent(
    title="Claude Code",
    program="claude",
    package="@anthropic-ai/claude-code",
    login="claude auth login",
    minimum=(2, 1, 53),
    variable="ANTHROPIC_API_KEY",
    reports="money",
)
CODEX = KnownAgent(
    title="Codex",
    program="codex",
    package="@openai/codex",
    login="codex login",
    minimum=(0, 50, 0),
    variable="CODEX_API_KEY",
    reports="tokens",
)
OPENCODE = KnownAgent(
    title="OpenCode",
    program="opencode",
    package="opencode-ai",
    login="opencode auth login",
    minimum=(1, 15, 3),
    reports="money",
)
# Gemini CLI and Qwen Code have no command to log in: they ask when they are started.
GEMINI = KnownAgent(
    title="Gemini CLI",
    program="gemini",
    package="@google/gemini-cli",
    login="gemini",
    minimum=(0, 35, 2),
    variable="GEMINI_API_KEY",
    reports="tokens",
)
COPILOT = KnownAgent(
    title="Copilot CLI",
    program="copilot",
    package="@github/copilot",
    login="copilot login",
    minimum=(0, 0, 409),
    variable="COPILOT_GITHUB_TOKEN",
    reports="tokens",
)
QWEN = KnownAgent(
    title="Qwen Code",
    program="qwen",
    package="@qwen-code/qwen-code",
    login="qwen",
    minimum=(0, 8, 2),
    variable="OPENAI_API_KEY",
    reports="tokens",
)
UNKNOWN = KnownAgent(title="The agent")

_ALL = (
    *(CLAUDE, CODEX, OPENCODE, GEMINI, COPILOT, QWEN),
    KnownAgent(title="Goose", program="goose"),
    KnownAgent(title="Cursor CLI", program="cursor-agent"),
    KnownAgent(title="Aider", program="aider"),
    KnownAgent(title="Amp", program="amp"),
    KnownAgent(title="Crush", program="crush"),
)
# What they call themselves in the Agent Client Protocol.
_ACP_NAMES = {"opencode": OPENCODE, "gemini-cli": GEMINI, "copilot": COPILOT, "qwen-code": QWEN}


def by_command(command: str | None) -> KnownAgent:
    """The agent whose program a command starts, by the program's name."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return UNKNOWN
    name = os.path.basename(words[0]) if words else ""
    return next((each for each in _ALL if each.program == name), UNKNOWN)


def by_acp_name(name: str) -> KnownAgent:
    """The agent that calls itself so."""
    return _ACP_NAMES.get(name.lower(), UNKNOWN)
