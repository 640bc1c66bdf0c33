"""The driver `claude-code`: Claude Code in print mode, its messages as a stream of JSON lines.

`read` gives it the tools that look and no others, and no MCP servers but ours. `work` lets it
edit and run commands unasked. `full` asks nothing; as root Claude Code refuses that unless
IS_SANDBOX=1 says that it is in a sandbox, which only the user can know: `env: {IS_SANDBOX: "1"}`.
"""

from __future__ import annotations

import shlex
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from hookline.adapters.agents.lines import (
    DETAIL,
    TEXT_LIMIT,
    described,
    failure,
    listen,
    notice,
    private_file,
    shown,
)
from hookline.adapters.agents.steps import STOPPED, Steps, stopped
from hookline.adapters.agents.waits import OVERLOADED, model_wait
from hookline.domain.turns import AgentEvent, AgentTurn, ModelWait, Usage
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.adapters.agents.drivers import Talk
    from hookline.ports.agents import ToolServer
    from hookline.ports.processes import Finished

SERVER = "hookline"
LOOKING = "Read,Glob,Grep"
WORKING = f"{LOOKING},Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch,mcp__{SERVER}"
UNKNOWN = "No conversation found"
# What tells most about a tool call, in this order.
TELLING = ("file_path", "notebook_path", "path", "command", "pattern", "url", "query", "prompt")


def takes_schema(schema: dict[str, Any]) -> bool:
    """Claude Code has a tool of its own for an answer by any schema."""
    return True


async def turn(profile: Any, talk: Talk) -> AgentTurn:
    """One turn of Claude Code, in its conversation if it knows it, else in a new one."""
    wanted = _uuid(talk.request.conversation)
    if wanted is not None:
        heard = await _ask(profile, talk, wanted, ["--resume", wanted])
        if heard is not None:
            return heard
    if talk.request.conversation:
        known = f"conversation {talk.request.conversation} is not known here"
        notice(talk, f"{known}; the agent begins a new one")
    fresh = str(uuid.uuid4())
    heard = await _ask(profile, talk.afresh(), fresh, ["--session-id", fresh])
    assert heard is not None
    return heard


def _uuid(text: str | None) -> str | None:
    """A conversation as Claude Code names it, never something that it could read as an option."""
    try:
        return str(uuid.UUID(text or ""))
    except ValueError:
        return None


async def _ask(profile: Any, talk: Talk, conversation: str, which: list[str]) -> AgentTurn | None:
    """The turn in a conversation; None if it was to be resumed, and Claude Code has none such."""
    hearing = _Hearing(talk)
    talk.request.on_conversation(conversation)
    with ExitStack() as files:
        argv = [*shlex.split(profile.command or "claude"), *_arguments(profile, talk, files)]
        argv += [*which, *profile.args]
        if talk.request.max_turns is not None:  # of two limits the last one counts
            argv += ["--max-turns", str(talk.request.max_turns)]
        try:
            done = await listen(argv, talk, hearing.take, steps=hearing.steps)
        except CannotStart as problem:
            return AgentTurn(error=f"{problem}; `command:` names the program", stop_reason="error")
    if "--resume" in which and UNKNOWN in f"{hearing.result.problem}{done.stderr}":
        return None
    return hearing.turn(done, conversation)


def _arguments(profile: Any, talk: Talk, files: ExitStack) -> list[str]:
    request = talk.request
    # Only what comes in parts tells how many tokens an answer took, before the turn is over.
    arguments = ["-p", "--verbose", "--output-format", "stream-json", "--include-partial-messages"]
    if profile.model:
        arguments += ["--model", profile.model]
    if request.tools is not None:
        arguments += ["--mcp-config", files.enter_context(private_file(_servers(request.tools)))]
    if request.schema is not None:
        arguments += ["--json-schema", msgspec.json.encode(request.schema).decode()]
    if request.read_only:  # who is judged must not instruct the judge by the files of the project
        arguments += ["--setting-sources", "user"]
    if request.read_only or profile.permissions == "read":
        allowed = f"{LOOKING},mcp__{SERVER}"
        arguments += ["--tools", LOOKING, "--allowedTools", allowed, "--strict-mcp-config"]
        return [*arguments, "--permission-mode", "dontAsk"]
    if profile.permissions == "full":
        return [*arguments, "--permission-mode", "bypassPermissions"]
    return [*arguments, "--allowedTools", WORKING, "--permission-mode", "acceptEdits"]


def _servers(tools: ToolServer) -> dict[str, Any]:
    """Our server, beside those that the user has configured."""
    program, *arguments = tools.argv
    server = {"type": "stdio", "command": program, "args": arguments, "env": dict(tools.env)}
    return {"mcpServers": {SERVER: server}}


# The lines, as far as they are read

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Money = Annotated[float, msgspec.Meta(ge=0)]


class _Line(msgspec.Struct):
    type: str = ""
    subtype: str | None = None


class _Server(msgspec.Struct):
    name: str = ""
    status: str = ""


class _Init(msgspec.Struct):
    mcp_servers: list[_Server] = []


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    tool_use_id: str = ""
    text: str = ""
    name: str = ""
    input: Any = None
    is_error: bool | None = None


class _Tokens(msgspec.Struct):
    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None

    def used(self, usd: float | None = None) -> Usage:
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return Usage(
            input_tokens=(self.input_tokens or 0) + cached,
            output_tokens=self.output_tokens or 0,
            usd=usd,
        )


class _Content(msgspec.Struct):
    id: str | None = None
    content: str | list[_Block] = []
    usage: _Tokens | None = None

    @property
    def blocks(self) -> list[_Block]:
        return [] if isinstance(self.content, str) else self.content


class _Message(msgspec.Struct):
    message: _Content
    parent_tool_use_id: str | None = None
    is_api_error_message: bool = False


class _Part(msgspec.Struct):
    type: str = ""
    message: _Content | None = None
    usage: _Tokens | None = None


class _PartLine(msgspec.Struct):
    event: _Part
    parent_tool_use_id: str | None = None


class _Limit(msgspec.Struct, rename="camel"):
    status: str = ""
    resets_at: Money | None = None


class _LimitLine(msgspec.Struct):
    rate_limit_info: _Limit


class _ModelCost(msgspec.Struct):
    usd: Money | None = msgspec.field(default=None, name="costUSD")


class _Denial(msgspec.Struct):
    tool_name: str = ""


class _Result(msgspec.Struct):
    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] = []
    stop_reason: str | None = None
    api_error: str | None = None
    api_error_status: int | None = None
    structured_output: Any = None
    permission_denials: list[_Denial] = []
    total_cost_usd: Money | None = None
    # The total counts all turns of a resumed conversation, this only what is new.
    model_usage_since_last_result: dict[str, _ModelCost] | None = None
    usage: _Tokens = msgspec.field(default_factory=_Tokens)

    @property
    def failed(self) -> bool:
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
        new = self.model_usage_since_last_result
        usd = self.total_cost_usd if new is None else sum(cost.usd or 0 for cost in new.values())
        return self.usage.used(usd)


class _Hearing:
    """What a turn's lines said so far."""

    def __init__(self, talk: Talk) -> None:
        self.result = _Result()
        # Claude Code counts anew whenever a subagent in the background has ended.
        self.steps = Steps(talk.request.max_turns)
        self._talk = talk
        self._has_result = False
        self._usage = Usage()
        # What messages used since the last result, which counts all of them.
        self._messages: dict[str | None, Usage] = {}
        # The message that is coming in, of the agent itself and of each of its subagents.
        self._coming: dict[str | None, str | None] = {}
        self._limit: _Limit | None = None
        self._text = ""
        self._message: str | None = None
        self._tools = 0
        self._open: dict[str, str] = {}

    def take(self, line: bytes) -> None:
        """One line of output; a line that is no message raises."""
        kind = msgspec.json.decode(line, type=_Line)
        if kind.type == "assistant":
            self._said(msgspec.json.decode(line, type=_Message))
        elif kind.type == "user":
            self._used(msgspec.json.decode(line, type=_Message).message)
        elif kind.type == "result":
            self._ended(msgspec.json.decode(line, type=_Result))
        elif kind.type == "stream_event":
            self._came(msgspec.json.decode(line, type=_PartLine))
        elif kind.type == "rate_limit_event":
            limit = msgspec.json.decode(line, type=_LimitLine).rate_limit_info
            self._limit = limit if limit.status == "rejected" else None
        elif kind.type == "system" and kind.subtype == "init":
            self._began(msgspec.json.decode(line, type=_Init))

    def turn(self, done: Finished, conversation: str) -> AgentTurn:
        """The whole turn, once the program is over."""
        result = self.result
        error = self._error(done)
        text = self._text or (result.result or "" if not result.failed else "")
        if error is None and result.structured_output is not None:
            text = msgspec.json.encode(result.structured_output).decode()
        if result.permission_denials:
            names = sorted({denial.tool_name for denial in result.permission_denials})
            notice(self._talk, f"tools that the agent was denied: {', '.join(names)}")
        was_stopped = result.was_stopped or self.steps.ending
        ending = STOPPED if was_stopped else "timeout" if done.timed_out else "error"
        return AgentTurn(
            text=text,
            error=error,
            stop_reason=ending if error else result.stop_reason or "end_turn",
            conversation=conversation,
            usage=self._used_so_far(),
            tools=self._tools,
            wait=self._wait(error) if error and ending == "error" else None,
        )

    def _began(self, init: _Init) -> None:
        for server in init.mcp_servers:
            if server.name == SERVER and server.status == "failed":
                notice(self._talk, "the agent could not start Hookline's tools")

    def _came(self, line: _PartLine) -> None:
        """A part of a message came in; its first one and its last one say what it used."""
        part, speaker = line.event, line.parent_tool_use_id
        if part.type == "message_start" and part.message is not None:
            self._coming[speaker] = part.message.id
            self._count(part.message.id, part.message.usage)
        elif part.type == "message_delta":
            self._count(self._coming.get(speaker), part.usage)

    def _count(self, message: str | None, tokens: _Tokens | None) -> None:
        if tokens is None:
            return
        used, known = tokens.used(), self._messages.get(message, Usage())
        self._messages[message] = Usage(
            input_tokens=max(used.input_tokens, known.input_tokens),
            output_tokens=max(used.output_tokens, known.output_tokens),
        )
        self._talk.request.on_usage(self._used_so_far())

    def _said(self, line: _Message) -> None:
        if line.is_api_error_message:  # Claude Code's words, not the model's
            return
        is_own = line.parent_tool_use_id is None
        if is_own and line.message.id != self._message:
            self._message, self._text = line.message.id, ""
            self.steps.answer()
            self.steps.act()
        for block in line.message.blocks:
            if block.type == "text" and is_own:
                self._text = f"{self._text}\n{block.text}".lstrip("\n")[-TEXT_LIMIT:]
                self._talk.request.on_event(AgentEvent(type="text", text=block.text))
            elif block.type == "tool_use" and block.name != "StructuredOutput":
                self._tools += 1
                self._open[block.id] = block.name
                detail = _detail(block.input, self._talk.folder)
                event = AgentEvent(type="tool", name=shown(block.name), detail=detail)
                self._talk.request.on_event(event)

    def _used(self, message: _Content) -> None:
        for block in message.blocks:
            name = self._open.pop(block.tool_use_id, None)
            if block.type == "tool_result" and name is not None:
                event = AgentEvent(type="tool_result", name=shown(name), ok=not block.is_error)
                self._talk.request.on_event(event)

    def _ended(self, result: _Result) -> None:
        self.result, self._has_result = result, True
        self._usage = _sum((self._usage, result.used()))
        self._messages.clear()

    def _used_so_far(self) -> Usage:
        return _sum((self._usage, *self._messages.values()))

    def _error(self, done: Finished) -> str | None:
        if self.steps.ending:
            return self.steps.ending
        if done.timed_out or not self._has_result:
            ended = failure(done, self._talk.request.timeout)
            if ended and "root/sudo" in done.stderr:
                return f'{ended}; `env: {{IS_SANDBOX: "1"}}` tells it that this is a sandbox'
            return ended or "the agent ended without a result"
        if not self.result.failed:
            return failure(done, self._talk.request.timeout)
        most = self._talk.request.max_turns
        if self.result.was_stopped and most is not None:
            return stopped(most)
        said = shown(self.result.problem)
        if self.result.api_error_status == 401:
            return f"the model refused the agent's key (401): {said}; sign in with `claude`"
        return said

    def _wait(self, error: str) -> ModelWait | None:
        result = self.result
        if result.api_error == "usage_limit_reached" or (self._limit and result.failed):
            return ModelWait(
                kind="usage_limit", until=self._limit.resets_at if self._limit else None
            )
        if result.api_error_status is not None:
            return ModelWait(kind="overloaded") if result.api_error_status in OVERLOADED else None
        return model_wait(error)


def _sum(parts: Iterable[Usage]) -> Usage:
    all_of = tuple(parts)
    prices = [each.usd for each in all_of if each.usd is not None]
    return Usage(
        input_tokens=sum(each.input_tokens for each in all_of),
        output_tokens=sum(each.output_tokens for each in all_of),
        usd=sum(prices) if prices else None,
    )


def _detail(given: Any, folder: str) -> str:
    if not isinstance(given, dict):
        return ""
    for key in TELLING:
        if isinstance(given.get(key), str):
            return shown(given[key].removeprefix(f"{folder}/"), DETAIL)
    return described(given)
