"""The result of an agent's turn, the same for every driver, and scripted turns."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hookline.domain.runs.model import run_of_place


class Usage(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """What a turn used, as the agent reports it; some of the input may have come from a cache.

    `computed`: the money comes from configured prices, and the agent has not reported it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    computed: bool = False

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.input_tokens + self.output_tokens


class Prices(
    msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What a model costs, in USD per million tokens."""

    input: Annotated[float, Meta(ge=0, description="A million tokens of input.")]
    output: Annotated[float, Meta(ge=0, description="A million tokens of output.")]
    cached_input: (
        Annotated[float, Meta(ge=0, description="A million of input from a cache; as `input`.")]
        | None
    ) = None

    def priced(self, usage: Usage) -> Usage:
        """The same usage, with what it costs."""
        cached = min(max(usage.cached_tokens, 0), max(usage.input_tokens, 0))
        fresh = max(usage.input_tokens, 0) - cached
        of_cached = self.input if self.cached_input is None else self.cached_input
        made = max(usage.output_tokens, 0)
        usd = (fresh * self.input + cached * of_cached + made * self.output) / 1_000_000
        return msgspec.structs.replace(usage, usd=usd, computed=True)


# In which role an agent takes a turn.
IMPLEMENTER, PLANNER, FIX = "implementer", "planner", "fix"
GATEKEEPER, HOOK, FLOW = "gatekeeper", "hook", "flow"


class Purpose(msgspec.Struct, kw_only=True, frozen=True):
    """What a turn is for: the role, the task, and what asks for it.

    `call` is the place in a run, such as `R-1/1/turn`, or the key of a hook's call; `hook` is the
    hook that asks, `cause` the position in the log of the event at which it was called.
    """

    role: str = HOOK
    task_id: str | None = None
    call: str = ""
    hook: str | None = None
    cause: int | None = None

    @property
    def run_id(self) -> str | None:
        """The run that asks for the turn, if one does."""
        return run_of_place(self.call)


class TurnCost(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """What one turn used until now. The last record of a turn counts, and only that one.

    `session` is the run of the session that led to it, where it is not a turn of that run itself.
    `computed`: the money comes from configured prices, and the agent has not reported it.
    `unfinished`: it is under way, or was interrupted, so that it may have used more than is known.
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
    computed: bool = False
    seconds: float = 0.0
    unfinished: bool = False

    def using(self, usage: Usage, seconds: float, *, unfinished: bool = False) -> TurnCost:
        """The same turn, once it has used so much; what no turn can use counts as nothing."""
        usd = usage.usd if usage.usd is not None and 0 <= usage.usd < math.inf else None
        return msgspec.structs.replace(
            self,
            input_tokens=max(usage.input_tokens, 0),
            output_tokens=max(usage.output_tokens, 0),
            usd=usd,
            computed=usage.computed,
            seconds=round(seconds, 3),
            unfinished=unfinished,
        )


class ModelWait(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """The model is not available for now: at a usage limit, overloaded or unreachable.

    `until` is the moment, in seconds since 1970, at which the agent says that it will be again.
    """

    kind: Literal["usage_limit", "overloaded", "unreachable"]
    until: float | None = None

    @property
    def reason(self) -> str:
        """Why it is waited for, in short."""
        return _WAITS[self.kind]


_WAITS = {
    "usage_limit": "usage limit",
    "overloaded": "model overloaded",
    "unreachable": "model unreachable",
}


ProblemKind = Literal["missing", "outdated", "login", "key", "credit", "model", "sandbox"]


class AgentProblem(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """Why an agent cannot work until a person has repaired something.

    `message` says what is wrong and `help` what to do about it, each a sentence without its full
    stop. `command` is what to type, where a command repairs it.
    """

    kind: ProblemKind
    message: str
    help: str
    command: str = ""

    @property
    def told(self) -> str:
        """All of it, for a person."""
        return f"{self.message}. {self.help}."


class Unpaid(msgspec.Struct, frozen=True):
    """Why a turn was not begun: nothing is left of a budget. `limit` is None for a worker's.

    `option` is what raises it.
    """

    message: str
    limit: str | None = None
    option: str = ""


class AgentTurn(msgspec.Struct, rename="camel", kw_only=True):
    """One turn: the agent's own final text, how it ended, and what it cost.

    `text` is what the agent said last, `tools` how many tools it used. An `error` says why the
    turn failed; `wait` that the model is to blame, and the turn can be tried again later; `problem`
    that the agent cannot work until a person has repaired something. One that is `unpaid` was not
    begun.
    """

    text: str = ""
    error: str | None = None
    stop_reason: str = "end_turn"
    conversation: str | None = None
    usage: Usage = Usage()
    tools: int = 0
    wait: ModelWait | None = None
    problem: AgentProblem | None = None
    interrupted: bool = False
    unpaid: Unpaid | None = None


EventKind = Literal["text", "tool", "tool_result", "notice"]


class AgentEvent(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """Something that happens during a turn, reported at once.

    `text`: the agent says something. `tool`: it begins to use a tool, `name` with `detail` such
    as the file or the command. `tool_result`: that tool is over, `ok` or not. `notice`: the
    driver has something to tell. `id` is the agent's own name of the use of a tool.
    """

    type: EventKind
    text: str = ""
    name: str = ""
    detail: str = ""
    ok: bool = True
    id: str = ""


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
    problem: AgentProblem | None = None
    expect: str | None = None
    repeat: bool = False
