"""How models are spoken to: the wire formats of three vendors, as far as the agents use them.

Each dialect reads a request into an `Asked` and writes a `Reply` as the events of a stream. How
each vendor says what is wrong is in `problems`.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]


class Call(NamedTuple):
    """A tool that the model wants used.

    `input` is the tool's arguments, or a plain text for Codex's free-form tools such as
    apply_patch. Codex puts the tools of an MCP server into a `namespace`: `mcp__NAME`.
    """

    name: str
    input: Json | str
    namespace: str | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answers: text, tools to use, or an HTTP error as the vendor sends it.

    `problem` is such an error by its name in `problems`; `status` and `error` make any other.
    `hold` keeps the agent waiting for as long as the server lives, `after` until that has happened.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: tuple[int, int] = (100, 20)
    status: int = 200
    error: Json | None = None
    problem: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    hold: bool = False
    after: threading.Event | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request of an agent: what it said since the model's last answer, and all before it.

    `prompt` is what begins a turn, without what the agent adds; None in the midst of a turn.
    """

    path: str
    headers: Mapping[str, str]
    body: Json
    newest: str
    history: str
    answers: int
    tools: tuple[str, ...]
    prompt: str | None


def read(path: str, headers: Mapping[str, str], body: Json) -> Asked:
    """A request in whichever dialect its path names."""
    items = body.get("messages") or body.get("input") or body.get("contents") or []
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    mine = [_is_model(item) for item in items]
    last = max((number for number, is_mine in enumerate(mine) if is_mine), default=-1)
    return Asked(
        path=path,
        headers=headers,
        body=body,
        newest="\n".join(_texts(items[last + 1 :])),
        history="\n".join(_texts(items)),
        answers=sum(
            1 for number, it in enumerate(mine) if it and not (number and mine[number - 1])
        ),
        tools=tuple(_tool_names(body, items)),
        prompt=_prompt(items),
    )


def _prompt(items: list[Json]) -> str | None:
    """The last text of whoever speaks last, if that is no tool."""
    spoken = [item for item in items if item.get("role") not in ("system", "developer")]
    content = (spoken[-1].get("content") or spoken[-1].get("parts")) if spoken else None
    if isinstance(content, str):
        content = [{"text": content}]
    if not content or any("text" not in part for part in content):  # a tool's result
        return None
    return str(content[-1]["text"]) if spoken[-1]["role"] == "user" else None


def _is_model(item: Json) -> bool:
    made = ("function_call", "custom_tool_call", "local_shell_call", "reasoning")
    return item.get("role") in ("assistant", "model") or item.get("type") in made


def _texts(value: Any) -> Iterator[str]:
    """Every text that an agent sends, tools' results included, without the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("content", "parts", "text", "output", "functionResponse", "response"):
            yield from _texts(value.get(key))


def _tool_names(body: Json, items: list[Json]) -> Iterator[str]:
    offered = list(body.get("tools") or [])
    for item in items:
        if item.get("type") == "additional_tools":
            offered += item.get("tools") or []
    for tool in offered:
        name = tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", "")
        if name:
            yield name
        for inner in tool.get("tools") or ():
            yield f"{name}.{inner.get('name')}"
        for inner in tool.get("functionDeclarations") or ():
            yield str(inner.get("name"))


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"


def named(events: Iterable[Json]) -> Iterator[str]:
    """A stream whose events carry their type as a name."""
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


# Anthropic Messages


def anthropic(reply: Reply, body: Json) -> Json | Iterator[str]:
    """An answer as Anthropic gives it."""
    blocks: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
    for call in reply.calls:
        block = {"type": "tool_use", "id": _id("toolu"), "name": call.name, "input": call.input}
        blocks.append(block)
    stop = "tool_use" if reply.calls else "end_turn"
    usage = {"input_tokens": reply.usage[0], "output_tokens": reply.usage[1]}
    usage |= {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message: Json = {"id": _id("msg"), "type": "message", "role": "assistant", "content": blocks}
    message |= {"model": body.get("model"), "stop_reason": stop, "stop_sequence": None}
    message["usage"] = usage
    if not body.get("stream"):
        return message
    return named(_anthropic_events(message, blocks, stop, usage))


def _anthropic_events(message: Json, blocks: list[Json], stop: str, usage: Json) -> Iterator[Json]:
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            text = json.dumps(block["input"])
            delta = {"type": "input_json_delta", "partial_json": text}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


# OpenAI Responses


def responses(reply: Reply, body: Json) -> Json | Iterator[str]:
    """An answer as OpenAI's Responses give it."""
    items = list(_response_items(reply))
    begun = {"id": _id("resp"), "object": "response", "created_at": int(time.time())}
    begun |= {"model": body.get("model"), "status": "in_progress", "output": []}
    given, made = reply.usage
    usage: Json = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    usage["input_tokens_details"] = {"cached_tokens": 0}
    usage["output_tokens_details"] = {"reasoning_tokens": 0}
    done = {**begun, "status": "completed", "output": items, "usage": usage}
    if not body.get("stream"):
        return done
    return named(_response_events(begun, items, done))


def _response_items(reply: Reply) -> Iterator[Json]:
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": _id("msg"), "content": content}
        yield {**item, "status": "completed"}
    for call in reply.calls:
        common = {"id": _id("fc"), "call_id": _id("call"), "name": call.name, "status": "completed"}
        if call.namespace:
            common["namespace"] = call.namespace
        if isinstance(call.input, str):
            yield {"type": "custom_tool_call", "input": call.input, **common}
        else:
            yield {"type": "function_call", "arguments": json.dumps(call.input), **common}


def _response_events(begun: Json, items: list[Json], done: Json) -> Iterator[Json]:
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(items):
        place = {"item_id": item["id"], "output_index": index}
        empty: Json = {"message": {"content": []}, "function_call": {"arguments": ""}}
        started = {**item, "status": "in_progress", **empty.get(item["type"], {})}
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        if item["type"] == "message":
            delta = item["content"][0]["text"]
            yield {
                "type": "response.output_text.delta",
                "content_index": 0,
                "delta": delta,
                **place,
            }
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": done}


# OpenAI Chat


def chat(reply: Reply, body: Json) -> Json | Iterator[str]:
    """An answer as OpenAI's Chat gives it, and all who copy it."""
    calls = [
        {
            "index": index,
            "id": _id("call"),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.input)},
        }
        for index, call in enumerate(reply.calls)
    ]
    ending = "tool_calls" if calls else "stop"
    given, made = reply.usage
    usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    common = {"id": _id("chatcmpl"), "created": int(time.time()), "model": body.get("model")}
    message: Json = {"role": "assistant", "content": reply.text or None}
    if calls:
        message["tool_calls"] = calls
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": ending}
        return {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
    return _chat_events(common, message, ending, usage)


def _chat_events(common: Json, message: Json, ending: str, usage: Json) -> Iterator[str]:
    deltas: tuple[tuple[Json, str | None], ...] = ((message, None), ({}, ending))
    choices = [[{"index": 0, "delta": delta, "finish_reason": end}] for delta, end in deltas]
    for choice in (*choices, []):
        chunk = {**common, "object": "chat.completion.chunk", "choices": choice}
        if not choice:
            chunk["usage"] = usage
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


# Gemini


def gemini(reply: Reply, body: Json) -> Json | Iterator[str]:
    """An answer as Google's Gemini gives it; only the path says whether it is a stream."""
    parts: list[Json] = [{"text": reply.text}] if reply.text else []
    parts += [{"functionCall": {"name": call.name, "args": call.input}} for call in reply.calls]
    content = {"role": "model", "parts": parts}
    given, made = reply.usage
    usage = {"promptTokenCount": given, "candidatesTokenCount": made}
    answer: Json = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    return {**answer, "usageMetadata": {**usage, "totalTokenCount": given + made}}


def gemini_stream(reply: Reply, body: Json) -> Iterator[str]:
    """The same as a stream of one event."""
    yield f"data: {json.dumps(gemini(reply, body))}\n\n"


DIALECTS = {
    "/messages": anthropic,
    "/responses": responses,
    "/chat/completions": chat,
    ":generateContent": gemini,
    ":streamGenerateContent": gemini_stream,
}
