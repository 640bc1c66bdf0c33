"""What an agent's turn gives back, whichever driver spoke to it, and turns written beforehand."""

from __future__ import annotations

import math
from typing import Literal

import msgspec


class Usage(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """What a turn used, as the agent reports it."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.input_tokens + self.output_tokens


# In which role an agent takes a turn.
IMPLEMENTER, PLANNER, FIX = "implementer", "planner", "fix"
GATEKEEPER, HOOK, FLOW = "gatekeeper", "hook", "flow"


class Purpose(msgspec.Struct, kw_only=True, frozen=True):
    """What a turn is for: the role, the task, and what asks for it.

    `call` is the place in a run, such as `R-1/1/turn`, or the key of a hook's call; `hook` is the
    hook that asks, `cause` the place in the log of the event at which it was called.
    """

    role: str = HOOK
    task_id: str | None = None
    call: str = ""
    hook: str | None = None
    cause: int | None = None

    @property
    def run_id(self) -> str | None:
        """The run that asks for the turn, if one does."""
        return run_of(self.call)


def run_of(call: str) -> str | None:
    """The run that a call is a place in."""
    run = call.partition("/")[0]
    return run if run[:2] == "R-" else None


class TurnCost(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """What one turn used until now. The last record of a turn counts, and only that one.

    `session` is the run of the session that led to it, where it is no turn of that run itself.
    `unfinished`: it is under way, or was cut short, so that it may have used more than is known.
    """

    turn: str
    role: str
    agent: str
    model: str | None = None
    call: str = ""
    hook: str | None = None
    session: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    unfinished: bool = False

    def using(self, usage: Usage, seconds: float, *, unfinished: bool = False) -> TurnCost:
        """The same turn, once it has used so much; what no turn can use counts as nothing."""
        usd = usage.usd if usage.usd is not None and 0 <= usage.usd < math.inf else None
        found: TurnCost = msgspec.structs.replace(
            self,
            input_tokens=max(usage.input_tokens, 0),
            output_tokens=max(usage.output_tokens, 0),
            usd=usd,
            seconds=round(seconds, 3),
            unfinished=unfinished,
        )
        return found


class ModelWait(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """The model takes no more for now: a usage limit was reached, or it is overloaded.

    `until` is the moment, in seconds since 1970, at which the agent says that it will again.
    """

    kind: Literal["usage_limit", "overloaded"]
    until: float | None = None


class AgentTurn(msgspec.Struct, rename="camel", kw_only=True):
    """One turn: the agent's own final text, how it ended, and what it cost.

    `text` is what the agent said last, `tools` how many tools it used. An `error` says why the
    turn failed; `wait` that the model is to blame, and the turn can be tried again later.
    """

    text: str = ""
    error: str | None = None
    stop_reason: str = "end_turn"
    conversation: str | None = None
    usage: Usage = Usage()
    tools: int = 0
    wait: ModelWait | None = None
    interrupted: bool = False


class AgentEvent(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """Something that happens during a turn, told while it does.

    `text`: the agent says something. `tool`: it begins to use a tool, `name` with `detail` such
    as the file or the command. `tool_result`: that tool is over, `ok` or not. `notice`: the
    driver has something to tell.
    """

    type: Literal["text", "tool", "tool_result", "notice"]
    text: str = ""
    name: str = ""
    detail: str = ""
    ok: bool = True


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
    usage: Usage = Usage()
    wait: ModelWait | None = None
    expect: str | None = None
    repeat: bool = False
