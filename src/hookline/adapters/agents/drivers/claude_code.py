"""The driver `claude-code`: Claude Code in print mode, its messages as a stream of JSON lines.

`read` gives it the tools that look and no others, and no MCP servers but ours. `work` lets it
edit and run commands unasked. `full` asks nothing; as root Claude Code refuses that unless
IS_SANDBOX=1 says that it is in a sandbox, which only the user can know: `env: {IS_SANDBOX: "1"}`.
"""

from __future__ import annotations

import shlex
import uuid
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.adapters.agents import claude_lines as claude
from hookline.adapters.agents import lines
from hookline.adapters.agents.health import examined
from hookline.adapters.agents.known_agents import CLAUDE
from hookline.adapters.agents.problems import (
    NOT_STARTED,
    Cause,
    FailedRequest,
    cause_of,
    problem,
    unable,
)
from hookline.adapters.agents.steps import STOPPED, stopped
from hookline.domain.sessions.turns import AgentTurn, ModelWait, Usage
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookline.domain.sessions.turns import AgentProblem
    from hookline.ports.agents import (
        AgentHealth,
        DriverTurn,
        HealthCheck,
        JsonSchema,
        Profile,
        Reports,
        ToolServer,
    )
    from hookline.ports.processes import Finished

PROGRAM = "claude"
KEEPS_FILES = True
SERVER = "hookline"
LOOKING = "Read,Glob,Grep"
WORKING = f"{LOOKING},Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch,mcp__{SERVER}"
UNKNOWN = "No conversation found"
AS_ROOT = "root/sudo"
SANDBOXED = (
    'If this machine is itself a sandbox, set `env: {IS_SANDBOX: "1"}` for that agent;'
    " else use `permissions: work`"
)
# The most telling arguments of a tool call come first.
TELLING = ("file_path", "notebook_path", "path", "command", "pattern", "url", "query", "prompt")


def reports(profile: Profile) -> Reports:
    """Claude Code says what a turn cost."""
    return "money"


async def health(profile: Profile, check: HealthCheck) -> AgentHealth:
    """Its version, and whether it says that someone is logged in."""
    return await examined(profile.command or PROGRAM, check)


def takes_schema(schema: JsonSchema) -> bool:
    """Claude Code has its own tool for an answer by any schema."""
    return True


async def turn(profile: Profile, talk: DriverTurn) -> AgentTurn:
    """One turn of Claude Code, in its conversation if it knows it, else in a new one."""
    wanted, fresh = _uuid(talk.request.conversation), str(uuid.uuid4())
    resume = partial(_ask, profile, talk, wanted, ["--resume", wanted]) if wanted else None
    begin = partial(_ask, profile, talk.afresh(), fresh, ["--session-id", fresh])
    return await lines.in_conversation(talk, resume, begin)


def _uuid(text: str | None) -> str | None:
    """A conversation as Claude Code names it, never something that it could read as an option."""
    with suppress(ValueError):
        return str(uuid.UUID(text or ""))
    return None


async def _ask(
    profile: Profile, talk: DriverTurn, conversation: str, which: list[str]
) -> AgentTurn | None:
    """The turn in a conversation; None if it was to be resumed, and Claude Code has none such."""
    hearing = _ClaudeTurn(talk)
    talk.request.on_conversation(conversation)
    with ExitStack() as files:
        argv = [*shlex.split(profile.command or PROGRAM), *_arguments(profile, talk, files)]
        argv += [*which, *profile.args]
        if talk.request.max_turns is not None:  # of two limits the last one counts
            argv += ["--max-turns", str(talk.request.max_turns)]
        try:
            done = await lines.listen(argv, talk, hearing.take, steps=hearing.steps)
        except CannotStart as why:
            return unable(problem(CLAUDE, "missing", str(why)))
    if "--resume" in which and UNKNOWN in f"{hearing.result.problem}{done.stderr}":
        return None
    return hearing.turn(done, conversation)


def _arguments(profile: Profile, talk: DriverTurn, files: ExitStack) -> list[str]:
    request = talk.request
    # Only what comes in parts tells how many tokens an answer took, before the turn is over.
    arguments = ["-p", "--verbose", "--output-format", "stream-json", "--include-partial-messages"]
    if profile.model:
        arguments += ["--model", profile.model]
    if request.tools is not None:
        servers = files.enter_context(lines.private_file(_servers(request.tools)))
        arguments += ["--mcp-config", servers]
    if request.schema is not None:
        arguments += ["--json-schema", msgspec.json.encode(request.schema).decode()]
    if request.read_only:  # the project's files must not instruct a gatekeeper
        arguments += ["--setting-sources", "user"]
    if request.read_only or profile.permissions == "read":
        allowed = f"{LOOKING},mcp__{SERVER}"
        arguments += ["--tools", LOOKING, "--allowedTools", allowed, "--strict-mcp-config"]
        return [*arguments, "--permission-mode", "dontAsk"]
    if profile.permissions == "full":
        return [*arguments, "--permission-mode", "bypassPermissions"]
    return [*arguments, "--allowedTools", WORKING, "--permission-mode", "acceptEdits"]


def _servers(tools: ToolServer) -> bytes:
    """Our server, in addition to those that the user has configured."""
    program, *arguments = tools.argv
    server = {"type": "stdio", "command": program, "args": arguments, "env": dict(tools.env)}
    return msgspec.json.encode({"mcpServers": {SERVER: server}})


class _ClaudeTurn(lines.HeardTurn):
    """What a turn's lines said so far."""

    def __init__(self, talk: DriverTurn) -> None:
        # Claude Code restarts its count of steps whenever a subagent in the background has ended.
        super().__init__(talk)
        self.result = claude.ResultLine()
        self._has_result = False
        self._usage = Usage()
        # What messages used since the last result, which counts all of them.
        self._messages: dict[str | None, Usage] = {}
        # The message that is coming in, of the agent itself and of each of its subagents.
        self._coming: dict[str | None, str | None] = {}
        self._limit: claude.RateLimit | None = None
        # The code of the last request that failed.
        self._code: str | None = None
        self._message: str | None = None
        self._open: dict[str, str] = {}
        self._kinds: dict[str, tuple[Any, Callable[[Any], None]]] = {
            "system/init": (claude.InitLine, self._began),
            "system/api_retry": (claude.RetryLine, self._tries_again),
            "assistant": (claude.MessageLine, self._said),
            "user": (claude.MessageLine, self._used),
            "stream_event": (claude.PartLine, self._came),
            "rate_limit_event": (claude.LimitLine, self._limited),
            "result": (claude.ResultLine, self._ended),
        }

    def take(self, line: bytes) -> None:
        """One line of output; a line that is not a message raises."""
        kind = typed.decode(line, claude.AnyLine)
        name = f"system/{kind.subtype}" if kind.type == "system" else kind.type
        if name in self._kinds:
            shape, hear = self._kinds[name]
            hear(typed.decode(line, shape))

    def turn(self, done: Finished, conversation: str) -> AgentTurn:
        """The whole turn, once the program is over."""
        result = self.result
        error = self._error(done)
        was_stopped = result.was_stopped or self.steps.ending
        ending = STOPPED if was_stopped else "timeout" if done.timed_out else "error"
        cause = self._cause(error, done) if error and ending == "error" else Cause()
        text = self._text or (result.result or "" if not result.failed else "")
        if error is None and result.structured_output is not None:
            text = msgspec.json.encode(result.structured_output).decode()
        if result.permission_denials:
            names = sorted({denial.tool_name for denial in result.permission_denials})
            lines.notice(self._talk, f"the agent was denied these tools: {', '.join(names)}")
        return AgentTurn(
            text=text,
            error=cause.problem.told if cause.problem else error,
            stop_reason=ending if error else result.stop_reason or "end_turn",
            conversation=conversation,
            usage=self._used_so_far(),
            tools=self._tools,
            wait=cause.wait,
            problem=cause.problem,
        )

    def _began(self, init: claude.InitLine) -> None:
        for server in init.mcp_servers:
            if server.name == SERVER and server.status == "failed":
                lines.notice(self._talk, "the agent could not start Hookline's tools")

    def _tries_again(self, line: claude.RetryLine) -> None:
        lines.notice(self._talk, line.told)

    def _limited(self, line: claude.LimitLine) -> None:
        limit = line.rate_limit_info
        self._limit = limit if limit.status == "rejected" else None

    def _came(self, line: claude.PartLine) -> None:
        """A part of a message came in; its first one and its last one say what it used."""
        part, speaker = line.event, line.parent_tool_use_id
        if part.type == "message_start" and part.message is not None:
            self._coming[speaker] = part.message.id
            self._count(part.message.id, part.message.usage)
        elif part.type == "message_delta":
            self._count(self._coming.get(speaker), part.usage)

    def _count(self, message: str | None, tokens: claude.TokenCounts | None) -> None:
        if tokens is None:
            return
        used, known = tokens.used(), self._messages.get(message, Usage())
        self._messages[message] = Usage(
            input_tokens=max(used.input_tokens, known.input_tokens),
            output_tokens=max(used.output_tokens, known.output_tokens),
            cached_tokens=max(used.cached_tokens, known.cached_tokens),
        )
        self._talk.request.on_usage(self._used_so_far())

    def _said(self, line: claude.MessageLine) -> None:
        if line.is_api_error_message:  # Claude Code's words, not the model's
            self._code = line.error
            return
        is_own = line.parent_tool_use_id is None
        if is_own and line.message.id != self._message:
            self._message, self._text = line.message.id, ""
            self.steps.answer()
            self.steps.act()
        for block in line.message.blocks:
            if block.type == "text" and is_own:
                self._text = f"{self._text}\n{block.text}".lstrip("\n")[-lines.TEXT_LIMIT :]
                self._tell("text", text=block.text)
            elif block.type == "tool_use" and block.name != "StructuredOutput":
                self._tools += 1
                self._open[block.id] = block.name
                detail = _detail(block.input, self._talk.folder)
                self._tell("tool", name=lines.shown(block.name), detail=detail, id=block.id)

    def _used(self, line: claude.MessageLine) -> None:
        for block in line.message.blocks:
            name = self._open.pop(block.tool_use_id, None)
            if block.type == "tool_result" and name is not None:
                shown, key = lines.shown(name), block.tool_use_id
                self._tell("tool_result", name=shown, ok=not block.is_error, id=key)

    def _ended(self, result: claude.ResultLine) -> None:
        self.result, self._has_result = result, True
        self._usage = _sum((self._usage, result.used()))
        self._messages.clear()

    def _used_so_far(self) -> Usage:
        return _sum((self._usage, *self._messages.values()))

    def _error(self, done: Finished) -> str | None:
        if self.steps.ending:
            return self.steps.ending
        if done.timed_out or not self._has_result:
            ended = lines.failure(done, self._talk.request.timeout)
            return ended or "the agent ended without a result"
        if not self.result.failed:
            return lines.failure(done, self._talk.request.timeout)
        most = self._talk.request.max_turns
        if self.result.was_stopped and most is not None:
            return stopped(most)
        return lines.shown(self.result.problem)

    def _cause(self, error: str, done: Finished) -> Cause:
        """Why the turn failed, by the codes of Claude Code."""
        result = self.result
        if not self._has_result:
            return Cause(problem=_before_it_began(error, done))
        if self._limit and result.failed:
            return Cause(wait=ModelWait(kind="usage_limit", until=self._limit.resets_at))
        code = result.api_error or self._code or result.api_error_type
        return cause_of(CLAUDE, FailedRequest(error, result.api_error_status, code))


def _before_it_began(error: str, done: Finished) -> AgentProblem | None:
    """Why Claude Code has said nothing at all, where only a person can change that."""
    if done.exit_code in NOT_STARTED:
        return problem(CLAUDE, "missing", error)
    return problem(CLAUDE, "sandbox", error, SANDBOXED) if AS_ROOT in done.stderr else None


def _sum(parts: Iterable[Usage]) -> Usage:
    all_of = tuple(parts)
    prices = [each.usd for each in all_of if each.usd is not None]
    return Usage(
        input_tokens=sum(each.input_tokens for each in all_of),
        output_tokens=sum(each.output_tokens for each in all_of),
        cached_tokens=sum(each.cached_tokens for each in all_of),
        usd=sum(prices) if prices else None,
    )


def _detail(given: Any, folder: str) -> str:
    if not isinstance(given, dict):
        return ""
    for key in TELLING:
        if isinstance(given.get(key), str):
            return lines.brief(given[key].removeprefix(f"{folder}/"))
    return lines.described(given)
