"""What an agent reports in its turn by the Agent Client Protocol: words, tools, and the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.adapters.processes.capture import CAP, Capture
from hookline.domain.sessions.turns import AgentEvent, Usage

if TYPE_CHECKING:
    from hookline.adapters.agents.steps import StepCount
    from hookline.ports.agents import TurnRequest

SHORT = 200
MAX_TOOLS = 10_000


class HeardContent(msgspec.Struct, rename="camel"):
    """A piece of what an agent says; only text is heard."""

    type: str = ""
    text: str = ""


class TouchedFile(msgspec.Struct):
    """A file that a tool touches."""

    path: str = ""


class ConversationCost(msgspec.Struct):
    """What a conversation has cost so far."""

    amount: float = 0.0
    currency: str = ""


class Update(msgspec.Struct, rename="camel"):
    """An update of whichever kind, as far as it is understood."""

    session_update: str = ""
    content: Any = None
    message_id: str | None = None
    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    locations: list[TouchedFile] | None = None
    raw_input: Any = None
    cost: ConversationCost | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class _Tool(msgspec.Struct):
    name: str
    kind: str
    detail: str = ""
    is_told: bool = False
    is_over: bool = False


class Heard:
    """Everything that an agent reported in one turn; what came before the turn is history."""

    def __init__(self, request: TurnRequest, steps: StepCount) -> None:
        self.is_turn = False
        self._steps = steps
        self._on_event = request.on_event
        self._on_usage = request.on_usage
        self._text = Capture()
        self._message: str | None = None
        self._tools: dict[str, _Tool] = {}
        self._cost: float | None = None
        self._cost_before: float | None = None
        self._tokens = Usage()

    @property
    def text(self) -> str:
        """What the agent said after its last tool."""
        return self._text.text()

    @property
    def tools(self) -> int:
        """How many tools the agent used."""
        return len(self._tools)

    def begin(self, *, is_new: bool) -> None:
        """The turn begins; the cost of a resumed conversation may be known already."""
        self.is_turn = True
        self._cost_before = 0.0 if is_new else self._cost

    def usage(self, result: dict[str, Any] | None = None) -> Usage:
        """What the turn used: by its result, if that says so, else as far as it was reported."""
        told = _tokens(result or {}) or self._tokens
        usd = None
        if self._cost is not None and self._cost_before is not None:
            usd = max(0.0, self._cost - self._cost_before)
        return msgspec.structs.replace(told, usd=usd)

    def kind_of(self, tool_call_id: str) -> str | None:
        """What kind of tool a call was said to be."""
        tool = self._tools.get(tool_call_id[:SHORT])
        return tool.kind if tool is not None and tool.kind else None

    def notice(self, text: str) -> None:
        """Tell something on the driver's own behalf."""
        self._on_event(AgentEvent(type="notice", text=text[: 2 * SHORT]))

    def update(self, params: Any) -> None:
        """Take an update; one of an unknown kind or shape is not for us."""
        try:
            update = typed.convert(params.get("update"), Update)
        except (msgspec.ValidationError, AttributeError):
            return
        if update.cost is not None and update.cost.currency.upper() == "USD":
            self._cost = update.cost.amount
        if not self.is_turn:
            return
        if (step := _qwen_tokens(update.meta)) is not None:
            self._tokens = _sum(self._tokens, step)
        if update.cost is not None or step is not None:
            self._on_usage(self.usage())
        if update.session_update == "agent_message_chunk":
            self._say(update)
        elif update.session_update in ("tool_call", "tool_call_update"):
            self._use(update)

    def _say(self, update: Update) -> None:
        try:
            text = typed.convert(update.content, HeardContent).text
        except msgspec.ValidationError:
            return
        if not text:
            return
        self._steps.act()
        if self._text.total and update.message_id != self._message:
            text = f"\n\n{text}"
        self._message = update.message_id
        self._text.feed(text.encode("utf-8", "replace"))
        self._on_event(AgentEvent(type="text", text=text[:CAP]))

    def _use(self, update: Update) -> None:
        tool, key = self._tool(update), update.tool_call_id[:SHORT]
        if tool is None or tool.is_over:
            return
        tool.kind = update.kind or tool.kind
        tool.detail = tool.detail or _detail(update, tool)
        is_over = update.status in ("completed", "failed")
        if not tool.is_told and (tool.detail or is_over):
            tool.is_told = True
            self._on_event(AgentEvent(type="tool", name=tool.name, detail=tool.detail, id=key))
        if is_over:
            tool.is_over = True
            self._steps.answer()
            ok = update.status == "completed"
            self._on_event(
                AgentEvent(type="tool_result", name=tool.name, detail=tool.detail, ok=ok, id=key)
            )

    def _tool(self, update: Update) -> _Tool | None:
        key = update.tool_call_id[:SHORT]
        if key not in self._tools:
            if len(self._tools) >= MAX_TOOLS:
                return None
            name = (update.title or update.kind or "tool")[:SHORT]
            self._tools[key] = _Tool(name=name, kind=update.kind or "")
            self._text = Capture()
            self._steps.act()
        return self._tools[key]


def _detail(update: Update, tool: _Tool) -> str:
    """The command or the file of a tool, or else what its title adds to its name."""
    given = update.raw_input if isinstance(update.raw_input, dict) else {}
    command = given.get("command")
    if isinstance(command, str) and command:
        return command[:SHORT]
    if tool.kind != "execute" and update.locations and update.locations[0].path:
        return update.locations[0].path[:SHORT]
    title = (update.title or "")[:SHORT]
    return title if title != tool.name else ""


class _Tokens(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


def _tokens(result: dict[str, Any]) -> Usage | None:
    """The tokens of a turn, by its result: as the protocol says it, or as Gemini does."""
    told = result.get("usage")
    try:
        if not isinstance(told, dict):
            counts = result["_meta"]["quota"]["token_count"]
            told = {"inputTokens": counts["input_tokens"], "outputTokens": counts["output_tokens"]}
        tokens = typed.convert(told, _Tokens)
    except (msgspec.ValidationError, LookupError, TypeError):
        return None
    cached = (tokens.cached_read_tokens or 0) + (tokens.cached_write_tokens or 0)
    return Usage(
        input_tokens=tokens.input_tokens + cached,
        output_tokens=tokens.output_tokens + (tokens.thought_tokens or 0),
        cached_tokens=tokens.cached_read_tokens or 0,
    )


def _qwen_tokens(meta: Any) -> Usage | None:
    """The tokens of one answer of the model, which Qwen Code reports with an empty text.

    What came from a cache is part of its input, and what it thought part of its output.
    """
    try:
        tokens = typed.convert(meta["usage"], _Tokens)
    except (msgspec.ValidationError, LookupError, TypeError):
        return None
    return Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cached_tokens=tokens.cached_read_tokens or 0,
    )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
    )
