"""Agents, and what one turn of theirs is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.domain.turns import AgentEvent, Purpose, Usage
from hookline.ports.processes import ProcessGroup

if TYPE_CHECKING:
    from hookline.domain.turns import AgentTurn


# It ends with words, so that a mere echo of the prompt does not end with an object.
_ANSWER = """\
{prompt}

# How to answer

Answer with one JSON object that fits this JSON Schema:

{schema}

End your last message with that object. Write nothing after it, and no other JSON object before it.
"""


class ToolServer(msgspec.Struct, frozen=True):
    """An MCP server that an agent is offered: how it is started, and what it must inherit."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is asked in one turn, and how.

    With `conversation` the agent goes on with that one, where it can; where a new one begins,
    `opening` comes before the prompt. A `read_only` agent may
    look at everything and change nothing. `schema` is the JSON Schema of the answer: an agent that
    can be held to one is, and any other is told at the end of its prompt, so the prompt itself
    does not say how to answer. An agent that takes more than `max_turns` steps of its model is
    stopped, where they can be seen. `purpose` is what the turn is counted for; `on_usage` is told
    what it has used so far, by agents that say so before the end.
    """

    prompt: str
    env: Mapping[str, str]
    timeout: float
    cwd: str | None = None
    conversation: str | None = None
    opening: str = ""
    read_only: bool = False
    schema: dict[str, Any] | None = None
    max_turns: int | None = None
    tools: ToolServer | None = None
    purpose: Purpose = Purpose()
    on_start: Callable[[ProcessGroup], None] = lambda group: None
    on_conversation: Callable[[str], None] = lambda conversation: None
    on_event: Callable[[AgentEvent], None] = lambda event: None
    on_usage: Callable[[Usage], None] = lambda usage: None

    def in_words(self) -> TurnRequest:
        """The same request to an agent that cannot be held to a schema."""
        schema = msgspec.json.encode(self.schema).decode()
        prompt = _ANSWER.format(prompt=self.prompt.rstrip(), schema=schema)
        return msgspec.structs.replace(self, prompt=prompt)

    def afresh(self) -> TurnRequest:
        """The same request to an agent that remembers nothing."""
        prompt = f"{self.opening}\n{self.prompt}" if self.opening else self.prompt
        return msgspec.structs.replace(self, prompt=prompt, opening="")


class Agents(Protocol):
    """The agents that the configuration names."""

    async def turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        """One turn of an agent; what goes wrong with it is part of the turn."""
        ...
