"""Agents, and what one turn of theirs is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from hookline.domain.sessions.turns import AgentEvent, AgentProblem, Prices, Purpose, Usage
from hookline.domain.text.schemas import as_type
from hookline.ports.processes import CannotStart, Processes, ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.sessions.turns import AgentTurn
    from hookline.ports.processes import Finished


# It ends with words, so that a mere echo of the prompt does not end with an object.
_ANSWER = """\
{prompt}

# How to answer

Answer with one JSON object {form}

End your last message with it. Write no other JSON object, and nothing after it.
"""


JsonSchema = dict[str, Any]


class ToolServer(msgspec.Struct, frozen=True):
    """An MCP server that an agent is offered: how it is started, and what it must inherit.

    It also needs the `secrets` of the agent, to recognize them in what it is told. An agent that
    lets its servers inherit everything need not be told about these.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    secrets: Mapping[str, str] = {}


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is asked in one turn, and how.

    With `conversation` the agent continues that one, where it can; where a new one begins,
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
    schema: JsonSchema | None = None
    max_turns: int | None = None
    tools: ToolServer | None = None
    purpose: Purpose = Purpose()
    on_start: Callable[[ProcessGroup], None] = lambda group: None
    on_conversation: Callable[[str], None] = lambda conversation: None
    on_event: Callable[[AgentEvent], None] = lambda event: None
    on_usage: Callable[[Usage], None] = lambda usage: None

    def in_words(self) -> TurnRequest:
        """The same request to an agent that cannot be held to a schema."""
        told = as_type(self.schema)
        form = f"of this type:\n\n{told}"
        if told is None:
            schema = msgspec.json.encode(self.schema).decode()
            form = f"that fits this JSON Schema:\n\n{schema}"
        prompt = _ANSWER.format(prompt=self.prompt.rstrip(), form=form)
        return msgspec.structs.replace(self, prompt=prompt)

    def afresh(self) -> TurnRequest:
        """The same request to an agent that remembers nothing."""
        prompt = f"{self.opening}\n{self.prompt}" if self.opening else self.prompt
        return msgspec.structs.replace(self, prompt=prompt, opening="")


class Profile(Protocol):
    """An agent as the configuration describes it; `options` are for its driver alone."""

    driver: str
    model: str | None
    command: str | None
    input: str
    args: list[str]
    env: dict[str, str]
    permissions: str
    script: str | None
    prices: Prices | None
    options: dict[str, Any]


class DriverTurn(msgspec.Struct, frozen=True):
    """One turn as a driver is given it: the prompt, the agent, and where it works.

    `folder` is the folder that the agent works in, `root` the project's.
    """

    name: str
    request: TurnRequest
    root: str
    folder: str
    processes: Processes

    def afresh(self) -> DriverTurn:
        """The same turn in a new conversation."""
        return msgspec.structs.replace(self, request=self.request.afresh())


# How long an agent may take to say something about itself; those for Node start slowly at first.
HEALTH_SECONDS = 20.0


class HealthCheck(msgspec.Struct, frozen=True):
    """How an agent is looked at without a turn: in an empty folder, with no model, no project."""

    folder: str
    env: Mapping[str, str]
    processes: Processes

    async def run(self, argv: Sequence[str]) -> Finished | None:
        """Run a program to its end; None if it cannot be started."""
        try:
            return await self.processes.run(
                argv, cwd=self.folder, env=self.env, timeout=HEALTH_SECONDS, stdin=b""
            )
        except CannotStart:
            return None


class AgentHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an agent can work, as far as that can be known without asking its model.

    `login` is "in" or "out" where the agent says so, `by` how; `problem` is what a person has to
    repair first.
    """

    installed: bool | None = None
    version: str | None = None
    login: Literal["in", "out", "unknown"] = "unknown"
    by: str = ""
    problem: AgentProblem | None = None


# What turns say that they cost: money and tokens, tokens alone, or nothing.
Reports = Literal["money", "tokens", "nothing"]


class Driver(Protocol):
    """How agents of one sort are spoken to: a module, or what an entry point names.

    It may say more: `NEEDS`, the keys that a profile must have; `OPTIONS`, the type of its
    `options`; `PROGRAM`, what a profile without a command starts; `KEEPS_FILES`, that an agent
    which is only asked cannot change a file (else what it changed is found and undone);
    `takes_schema(schema)`, whether its agent can be held to the schema of an answer;
    `reports(profile)`, what its turns say that they cost; and `async health(profile, check)`,
    whether its agent can work.
    """

    async def turn(self, profile: Profile, talk: DriverTurn) -> AgentTurn:
        """One turn; what goes wrong is part of it."""


class Agents(Protocol):
    """The agents that the configuration names."""

    async def turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        """One turn of an agent; what goes wrong with it is part of the turn."""
