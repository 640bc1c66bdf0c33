"""The MCP server itself: lists the tools, carries out calls, and turns errors into advice."""

from __future__ import annotations

import inspect
import sys
import traceback
from typing import TYPE_CHECKING, Any

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server

from hookline.domain.text.cleaning import typed_value
from hookline.errors import HooklineError
from hookline.surfaces.courier import Courier
from hookline.surfaces.mcp.arguments import read, schema_of
from hookline.surfaces.mcp.tools import LOOP, chosen
from hookline.surfaces.mcp.visit import in_session, note, opened, signed
from hookline.tasks.loops import LoopLimit
from hookline.trust.people import as_called
from hookline.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext

    from hookline.surfaces.mcp.tools import Tool

INSTRUCTIONS = (
    "Hookline keeps your tasks and decides when your work is done. Loop: task_get, hook_register,"
    " iteration_start, then work and call iteration_validate until its completionSignal is"
    " COMPLETE or ESCALATE. At COMPLETE call iteration_complete, then task_complete. At ESCALATE"
    " call task_block, then stop. Answers and errors say what to call next."
)
IN_SESSION = (
    "Your session runs the loop: when your turn ends it checks your work and decides whether you"
    " are done. End your turn as your prompt says; session_complete counts as the promise COMPLETE,"
    " and task_complete and task_block are for tasks below yours, not for yours."
    " task_get, task_create, dep_add and note_add help you. hook_register adds a check of your own"
    " that must pass before you are done; hook_clear removes it."
)
# What the command line's remedies are called here.
_HELP = {
    "unknown-task": "call task_list to see the tasks",
    "unknown-checkpoint": "call checkpoint_list with the taskId",
    "nothing-ready": "call task_list to see what waits, and for what",
    "claimed": "call task_next to take another task",
    "stale-claim": "drop this work, or call task_next with claim true",
    "illegal-transition": "call task_get to see the task's state",
    "no-project": "ask a person to run `hookline init` here",
    "untrusted": "ask a person to run `hookline trust`",
}
# Where the tools that these name are not served.
_LEAVE = "leave it: another agent works on it"
_HELP_IN_SESSION = {**_HELP, "claimed": _LEAVE, "stale-claim": _LEAVE}


class UnknownTool(HooklineError):
    """There is no such tool, or not in the set that is served."""

    code = "unknown-tool"


class SessionRunsLoop(HooklineError):
    """Your session runs the loop: it validates your work when your turn ends."""

    code = "session-runs-loop"
    help = "continue your work; when it is done, call session_complete and end your turn"


class Desk:
    """Answers the calls of all clients of one server.

    `tools` names a set; None is what fits, which inside a session is less.
    """

    def __init__(
        self, environ: Mapping[str, str], *, tools: str | None = None, commands: bool = True
    ) -> None:
        self._environ = as_called(environ)
        self._in_session = in_session(self._environ)
        self._tools = chosen(tools or ("session" if self._in_session else "all"))
        self._commands = commands
        self._courier = Courier(note)

    @property
    def instructions(self) -> str:
        """What an agent is told about the server as a whole."""
        return IN_SESSION if self._in_session else INSTRUCTIONS

    def list(self) -> list[types.Tool]:
        """The tools as they are listed."""
        return [_listed(name, tool) for name, tool in self._tools.items()]

    async def call(
        self, name: str, arguments: Mapping[str, Any], client: str | None
    ) -> types.CallToolResult:
        """Carry out a call; whatever goes wrong becomes a result that says what to do next."""
        try:
            value = await self._carry_out(name, arguments, client)
        except HooklineError as problem:
            return _refusal(problem, _HELP_IN_SESSION if self._in_session else _HELP)
        except Exception:  # noqa: BLE001  # the outer boundary: a bug becomes a short report
            traceback.print_exc(file=sys.stderr)
            return _answer(_error("bug", f"{name} failed inside Hookline", _BUG), is_error=True)
        return _answer(value)

    async def close(self) -> None:
        """Leave what is still to be delivered to the next process."""
        await self._courier.close()

    async def _carry_out(
        self, name: str, arguments: Mapping[str, Any], client: str | None
    ) -> dict[str, Any]:
        if self._in_session and name in LOOP:
            raise SessionRunsLoop
        tool = self._tools.get(name)
        if tool is None:
            help = f"the tools are {', '.join(self._tools)}"
            raise UnknownTool(f"there is no tool '{name[:60]}'", help=help)
        with opened(self._environ, client, commands=self._commands) as visit:
            cleaner = visit.app.cleaner
            given = read(tool.arguments, arguments, name, lambda v: cleaner.value(typed_value(v)))
            answer = tool.run(visit, given)
            if inspect.isawaitable(answer):
                answer = await answer
            may_wait = not tool.reads and visit.app.origin.session is None
            waits = may_wait and (visit.app.work_waits() or visit.app.watch.should_look())
        if waits:
            await self._courier.deliver(signed(self._environ, client))
        value: dict[str, Any] = msgspec.to_builtins(answer)
        return value


def make_server(desk: Desk) -> Server[Any]:
    """The server that speaks the protocol for a desk."""

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=desk.list())

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        known = context.session.client_params
        client = known.client_info.name if known is not None else None
        return await desk.call(params.name, params.arguments or {}, client)

    return Server(
        "hookline",
        version=__version__,
        instructions=desk.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


_BUG = "try another way; a person finds the details in the server's stderr"


def _listed(name: str, tool: Tool) -> types.Tool:
    return types.Tool(
        name=name,
        description=tool.summary,
        input_schema=schema_of(tool.arguments),
        output_schema=tool.output,
        annotations=types.ToolAnnotations(read_only_hint=True) if tool.reads else None,
    )


def _refusal(problem: HooklineError, remedies: Mapping[str, str]) -> types.CallToolResult:
    error = _error(problem.code, problem.message, remedies.get(problem.code) or problem.help)
    if isinstance(problem, LoopLimit):
        error |= {"completionSignal": "ESCALATE", "reason": problem.reason}
    return _answer(error, is_error=True)


def _error(code: str, message: str, help: str | None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "help": help}}


def _answer(value: dict[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    text = msgspec.json.encode(value).decode()
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=value, is_error=is_error)
