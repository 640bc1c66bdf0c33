"""The spans of an agent's turn and of the tools that it used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.telemetry import Span, SpanPlace, Value, span_id
from hookline.domain.timestamps import seconds
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.domain.sessions.tools import UsedTool
    from hookline.ports.store import Blobs
    from hookline.queries.telemetry.content import SentContent
    from hookline.queries.telemetry.places import Around
    from hookline.queries.telemetry.turns import FedTurn, RecordedTurn

# Who makes the models whose names begin so, and those of agents that name none.
_PROVIDERS = {
    "claude": "anthropic",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "codex": "openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "deepseek": "deepseek",
    "grok": "x_ai",
}
MILLI = 1_000_000


class TurnSpans:
    """Makes the spans of turns; `drivers` has those of the agents' profiles."""

    def __init__(
        self, store_id: str, content: SentContent, blobs: Blobs, drivers: Mapping[str, str]
    ) -> None:
        self._store_id, self._content = store_id, content
        self._blobs, self._drivers = blobs, drivers

    def of(
        self,
        around: Around,
        same: dict[str, Value],
        turn: RecordedTurn,
        asked: Mapping[str, Any],
        said: Mapping[str, Any],
        fed: FedTurn | None,
    ) -> Iterator[Span]:
        """A turn that was `asked`, with its tools; `same` is what all of them are marked with."""
        cost, recorded = turn.cost, nanoseconds(turn.at)
        place = SpanPlace(around.trace, span_id(self._store_id, "turn", cost.turn))
        cut, tools = cost.unfinished or bool(said.get("interrupted")), fed.tools if fed else ()
        # The last record of a turn that was cut may be its first: its tools were there later.
        seen = (nanoseconds(each.ended or each.began) for each in tools)
        end = max((recorded, *seen)) if cut else recorded
        error = "interrupted" if cut else "turn_failed" if said.get("error") else None
        agent = self._content.name(cost.agent)
        if conversation := said.get("conversation"):
            same["hookline.conversation"] = self._content.name(conversation)
            same.setdefault("gen_ai.conversation.id", same["hookline.conversation"])
        args = asked.get("args", {})
        given = "\n".join(self._text(args.get(name)) for name in ("opening", "prompt")).strip()
        yield Span(
            place=place,
            parent=around.parent,
            name=f"invoke_agent {agent}",
            start=recorded - round(cost.seconds * 1000) * MILLI,
            end=end,
            attributes={
                **same,
                **self._usage(cost),
                **shown_as(("AGENT", "agent")),
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent,
                "gen_ai.provider.name": self._provider(cost),
                "hookline.turn": cost.turn,
                "hookline.call": cost.call,
                "hookline.turn.role": cost.role,
                "hookline.turn.unfinished": cost.unfinished,
                **self._content.exchange(given, said.get("text")),
            },
            is_client=True,
            error=error,
            message=self._content.said(str(said.get("error") or "")),
        )
        for number, tool in enumerate(tools):
            yield self._tool(place, number, tool, end, same)

    def _text(self, value: object) -> str:
        """A text that an agent was told, if someone wants to know."""
        found = journal.shown(value, self._blobs) if self._content.is_wanted else None
        return found if isinstance(found, str) else ""

    def _usage(self, cost: Any) -> dict[str, Value]:
        found: dict[str, Value] = {
            "gen_ai.usage.input_tokens": cost.input_tokens,
            "gen_ai.usage.output_tokens": cost.output_tokens,
            "llm.token_count.prompt": cost.input_tokens,
            "llm.token_count.completion": cost.output_tokens,
            "llm.token_count.total": cost.input_tokens + cost.output_tokens,
        }
        if cost.model:
            model = self._content.name(cost.model)
            found |= dict.fromkeys(("gen_ai.request.model", "llm.model_name"), model)
        if cost.usd is not None:
            found |= {"llm.cost.total": cost.usd, "hookline.usd": cost.usd}
            found["langfuse.observation.cost_details"] = f'{{"total": {cost.usd!r}}}'
        return found

    def _provider(self, cost: Any) -> str:
        driver = self._drivers.get(cost.agent, "")
        for known in (cost.model or "", driver, cost.agent):
            lower = known.lower()
            for start, provider in _PROVIDERS.items():
                if lower.startswith(start):
                    return provider
        return driver or "unknown"

    def _tool(
        self, turn: SpanPlace, number: int, tool: UsedTool, last: int, same: dict[str, Value]
    ) -> Span:
        name, key = self._content.name(tool.name or "tool"), f"{turn.span}-{number}"
        began = nanoseconds(tool.began)
        attributes = {
            **same,
            **shown_as(("TOOL", "tool")),
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": self._content.name(tool.id or key),
            "tool.name": name,
            **self._content.values(tool.detail, None),
        }
        if detail := self._content.said(tool.detail):
            attributes["gen_ai.tool.call.arguments"] = detail
        error = "unfinished" if tool.ended is None else None if tool.is_ok else "tool_failed"
        return Span(
            place=SpanPlace(turn.trace, span_id("tool", key)),
            parent=turn.span,
            name=f"execute_tool {name}",
            start=began,
            end=nanoseconds(tool.ended) if tool.ended is not None else max(last, began),
            attributes=attributes,
            error=error,
        )


def shown_as(kinds: tuple[str, str]) -> dict[str, Value]:
    """How those who show spans are told what one is."""
    return {"openinference.span.kind": kinds[0], "langfuse.observation.type": kinds[1]}


def nanoseconds(moment: str) -> int:
    """A moment as spans have it."""
    return round(seconds(moment) * 1000) * MILLI
