"""A real MCP client that talks to a real server in a project of its own."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from hookline.surfaces.mcp.server import Desk, make_server
from tests.in_process import place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path
    from typing import Self

    import mcp_types as types

    from tests.e2e.conftest import Cli


class Agent:
    """Calls tools as an agent does; one server for as long as it is entered."""

    def __init__(
        self,
        client: Client,
        place: Callable[[], AbstractContextManager[None]] = nullcontext,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client = client
        self._place = place
        self._close = close
        self._stack = ExitStack()

    @classmethod
    def in_process(
        cls,
        cli: Cli,
        *,
        tools: str | None = None,
        commands: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> Agent:
        """An agent whose server is in the test's own process, for what needs no start and no end.

        What `tools` and `commands` say to it are options of `hookline mcp`.
        """
        environment = {**cli.env, **(env or {})}
        desk = Desk(environment, tools=tools, commands=commands)
        return cls(Client(make_server(desk)), partial(place, cli.root, environment), desk.close)

    @classmethod
    def on_stdio(
        cls,
        cli: Cli,
        *options: str,
        env: Mapping[str, str] | None = None,
        said: Path | None = None,
    ) -> Agent:
        """An agent that starts its server itself; what that says on stderr can go to a file."""
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "hookline", "mcp", *options],
            env={**cli.env, **(env or {})},
            cwd=cli.root,
        )
        if said is None:
            return cls(Client(stdio_client(server)))
        stderr = said.open("w", encoding="utf-8")
        agent = cls(Client(stdio_client(server, stderr)))
        agent._stack.enter_context(stderr)
        return agent

    def __enter__(self) -> Self:
        self._portal = self._stack.enter_context(start_blocking_portal())
        if self._close is not None:
            self._stack.callback(self._portal.call, self._close)
        self._stack.enter_context(self._portal.wrap_async_context_manager(self._client))
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a call that must succeed."""
        result = self.call(tool, arguments)
        assert not result.is_error, result.content
        return _value(result)

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What an agent is told that must not get its will."""
        result = self.call(tool, arguments)
        assert result.is_error, result.content
        return _value(result)

    def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """A call as it is answered."""
        with self._place():
            result: types.CallToolResult = self._portal.call(
                self._client.call_tool, tool, arguments
            )
        return result

    def together(self, calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """The answers of calls that are all made at once."""
        with self._place():
            waiting = [
                self._portal.start_task_soon(self._client.call_tool, *each) for each in calls
            ]
            return [_value(each.result()) for each in waiting]

    @property
    def instructions(self) -> str:
        """What the server says about itself as a whole."""
        return str(self._client.instructions)

    def tools(self) -> types.ListToolsResult:
        """The list of tools."""
        found: types.ListToolsResult = self._portal.call(self._client.list_tools)
        return found

    def loop(self, *hooks: str | dict[str, Any], **plan: Any) -> tuple[str, str]:
        """(task, iteration) of a new loop with these hooks registered."""
        task = self("task_create", goal="work")["taskId"]
        for each in hooks:
            self(
                "hook_register",
                taskId=task,
                **({"hookType": each} if isinstance(each, str) else each),
            )
        return task, self("iteration_start", taskId=task, **plan)["iterationId"]


def _value(result: types.CallToolResult) -> dict[str, Any]:
    (block,) = result.content
    assert block.type == "text"
    assert json.loads(block.text) == result.structured_content
    value: dict[str, Any] = result.structured_content
    return value
