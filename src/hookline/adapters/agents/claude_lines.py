"""The lines that Claude Code prints, as far as they are read."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from hookline.domain.sessions.turns import Usage

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Money = Annotated[float, msgspec.Meta(ge=0)]


class AnyLine(msgspec.Struct):
    """What kind of line it is."""

    type: str = ""
    subtype: str | None = None


class ServerState(msgspec.Struct):
    """An MCP server, and whether it runs."""

    name: str = ""
    status: str = ""


class InitLine(msgspec.Struct):
    """The first line."""

    mcp_servers: list[ServerState] = []


class ContentBlock(msgspec.Struct):
    """A text, a tool call or a tool's result."""

    type: str = ""
    id: str = ""
    tool_use_id: str = ""
    text: str = ""
    name: str = ""
    input: Any = None
    is_error: bool | None = None


class TokenCounts(msgspec.Struct):
    """Tokens of one message, or of all."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None

    def used(self, usd: float | None = None) -> Usage:
        """The same as what a turn used."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return Usage(
            input_tokens=(self.input_tokens or 0) + cached,
            output_tokens=self.output_tokens or 0,
            cached_tokens=self.cache_read_input_tokens or 0,
            usd=usd,
        )


class MessageContent(msgspec.Struct):
    """A message of the model, or what tools gave back."""

    id: str | None = None
    content: str | list[ContentBlock] = []
    usage: TokenCounts | None = None

    @property
    def blocks(self) -> list[ContentBlock]:
        """Its blocks; a mere text has none."""
        return [] if isinstance(self.content, str) else self.content


class MessageLine(msgspec.Struct):
    """A message; the tool call that a subagent works for, if it is one's.

    One of Claude Code itself about a request that failed has a code.
    """

    message: MessageContent
    parent_tool_use_id: str | None = None
    is_api_error_message: bool = False
    error: str | None = None


class RetryLine(msgspec.Struct):
    """A request failed, and Claude Code makes it again by itself."""

    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0.0
    error_status: int | None = None
    error: str | None = None

    @property
    def told(self) -> str:
        """The same in words."""
        why = (self.error or "it failed").replace("_", " ")
        status = f" ({self.error_status})" if self.error_status else ""
        wait = f"{max(self.retry_delay_ms, 0) / 1000:.0f} s"
        which = f"{self.attempt} of {self.max_retries}"
        return f"a request to the model failed: {why}{status}; attempt {which} follows in {wait}"


class MessagePart(msgspec.Struct):
    """A part of a message that is coming in."""

    type: str = ""
    message: MessageContent | None = None
    usage: TokenCounts | None = None


class PartLine(msgspec.Struct):
    """Such a part, as a line."""

    event: MessagePart
    parent_tool_use_id: str | None = None


class RateLimit(msgspec.Struct, rename="camel"):
    """Whether the account's limit is reached."""

    status: str = ""
    resets_at: Money | None = None


class LimitLine(msgspec.Struct):
    """Such a limit, as a line."""

    rate_limit_info: RateLimit


class ModelCost(msgspec.Struct):
    """What one model cost."""

    usd: Money | None = msgspec.field(default=None, name="costUSD")


class Denial(msgspec.Struct):
    """A tool call that was not permitted."""

    tool_name: str = ""


class ResultLine(msgspec.Struct):
    """The last line: how the turn ended, and what it used."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] = []
    stop_reason: str | None = None
    api_error: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    structured_output: Any = None
    permission_denials: list[Denial] = []
    total_cost_usd: Money | None = None
    # The total counts all turns of a resumed conversation, this only what is new.
    model_usage_since_last_result: dict[str, ModelCost] | None = None
    usage: TokenCounts = msgspec.field(default_factory=TokenCounts)

    @property
    def failed(self) -> bool:
        """Whether it is an error."""
        return self.is_error or self.subtype != "success"

    @property
    def was_stopped(self) -> bool:
        """Whether the limit of steps ended it."""
        return self.subtype == "error_max_turns"

    @property
    def problem(self) -> str:
        """What went wrong, in Claude Code's words."""
        if not self.failed:
            return ""
        return "; ".join(self.errors) or self.result or self.subtype

    def used(self) -> Usage:
        """The same as what a turn used."""
        new = self.model_usage_since_last_result
        usd = self.total_cost_usd if new is None else sum(cost.usd or 0 for cost in new.values())
        return self.usage.used(usd)
