"""What an agent's turn gives back, whichever driver spoke to it, and turns written beforehand."""

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


class ScriptedTurn(
    msgspec.Struct, rename="camel", kw_only=True, frozen=True, forbid_unknown_fields=True
):
    """A turn of a scripted agent: what it says, and the shell line that stands for its work.

    `expect` must be part of the prompt; `repeat` lets the last turn serve for all that follow.
    """

    text: str = ""
    run: str | None = None
    error: str | None = None
    stop_reason: str = "end_turn"
    usage: dict[str, Any] = {}
    expect: str | None = None
    repeat: bool = False
