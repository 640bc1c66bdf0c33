"""What an agent's turn gives back, whichever driver spoke to it."""

from __future__ import annotations

from typing import Any

import msgspec


class AgentTurn(msgspec.Struct, rename="camel", kw_only=True):
    """One turn: the agent's final text, how it ended, and what it cost."""

    text: str = ""
    error: str | None = None
    stop_reason: str = "end_turn"
    conversation: str | None = None
    usage: dict[str, Any] = {}
    interrupted: bool = False
