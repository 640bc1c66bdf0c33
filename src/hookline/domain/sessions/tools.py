"""The tools that agents use, as their feeds tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.timestamps import is_moment

if TYPE_CHECKING:
    from collections.abc import Mapping


class UsedTool(msgspec.Struct):
    """A tool that an agent used in a turn; without an end it was under way when the turn ended."""

    name: str
    detail: str
    began: str
    id: str = ""
    ended: str | None = None
    is_ok: bool = True


def note_tool(tools: list[UsedTool], at: object, data: Mapping[str, Any]) -> None:
    """Add what an agent's record says: a tool began, or one of those that run ended."""
    if not (isinstance(at, str) and is_moment(at)):  # it is forged
        return
    name, known = str(data.get("name", "")), str(data.get("id", ""))
    if data.get("type") == "tool":
        tools.append(UsedTool(name, str(data.get("detail", "")), at, known))
    elif data.get("type") == "tool_result":
        running = (each for each in tools if each.ended is None)
        tool = next((each for each in running if (each.id, each.name) == (known, name)), None)
        if tool is not None:
            tool.ended, tool.is_ok = at, data.get("ok") is not False
