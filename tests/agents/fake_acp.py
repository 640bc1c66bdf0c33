"""An agent that speaks the Agent Client Protocol and behaves as its first argument says.

A program of its own: `python fake_acp.py BEHAVIOUR`. What it is told it writes to `told.jsonl` in
its folder, so that tests read what an agent really received.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    AuthMethodAgent,
    Cost,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

OPTIONS = [
    PermissionOption(option_id="1", name="Always", kind="allow_always"),
    PermissionOption(option_id="2", name="Once", kind="allow_once"),
    PermissionOption(option_id="3", name="No", kind="reject_once"),
]
ANSWERS = {"1": "always", "2": "once", "3": "no"}


def note(**told: Any) -> None:
    """Write down what the agent was told."""
    with open("told.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


class Fake:
    """The agent's side of the protocol."""

    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour
        self._client: Any = None
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> InitializeResponse:
        note(method="initialize", version=protocol_version)
        resume = SessionResumeCapabilities() if self._behaviour == "resumes" else None
        login = AuthMethodAgent(id="login", name="Log in", description="Run `fake login`")
        return InitializeResponse(
            protocol_version=2 if self._behaviour == "newer" else protocol_version,
            agent_capabilities=AgentCapabilities(
                load_session=self._behaviour in ("loads", "forgets"),
                session_capabilities=SessionCapabilities(resume=resume),
            ),
            auth_methods=[login],
        )

    async def new_session(self, cwd: str, mcp_servers: Any = None, **more: Any) -> Any:
        if self._behaviour == "locked":
            raise acp.RequestError.auth_required({"message": "no account"})
        servers = [server.model_dump() for server in mcp_servers]
        note(method="new", cwd=cwd, servers=servers)
        modes = [SessionMode(id="auto", name="Auto"), SessionMode(id="read-only", name="Read")]
        state = SessionModeState(available_modes=modes, current_mode_id="auto")
        sizes = [SessionConfigSelectOption(name=name, value=name) for name in ("small", "large")]
        model = SessionConfigOptionSelect(
            id="m", name="Model", category="model", type="select", current_value="a", options=sizes
        )
        return NewSessionResponse(
            session_id="conversation-1",
            modes=state if self._behaviour == "modes" else None,
            config_options=[model] if self._behaviour == "models" else None,
        )

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> None:
        note(method="load", session=session_id)
        if self._behaviour == "forgets":
            raise acp.RequestError.resource_not_found(session_id)
        await self._say(session_id, "old words COMPLETE")
        call = acp.start_tool_call("old", "old tool", kind="edit", status="completed")
        await self._client.session_update(session_id, call)
        await self._cost(session_id, 1.5)

    async def resume_session(self, session_id: str, **more: Any) -> Any:
        note(method="resume", session=session_id)
        return {}

    async def set_config_option(self, config_id: str, value: str, **more: Any) -> None:
        note(method="option", option=config_id, value=value)

    async def set_session_mode(self, mode_id: str, **more: Any) -> None:
        note(method="mode", mode=mode_id)

    async def cancel(self, session_id: str, **more: Any) -> None:
        note(method="cancel", session=session_id)
        self._cancelled.set()

    async def prompt(self, session_id: str, prompt: Any, **more: Any) -> PromptResponse:
        note(method="prompt", session=session_id, text=prompt[0].text)
        act = getattr(self, f"_{self._behaviour}", self._works)
        answer: PromptResponse = await act(session_id)
        return answer

    async def _works(self, session: str) -> PromptResponse:
        await self._say(session, "I look at it. ")
        call = acp.start_tool_call("t1", "write", kind="edit", status="pending")
        await self._client.session_update(session, call)
        for status in ("in_progress", "completed"):
            done = acp.update_tool_call("t1", status=status, raw_input={"command": "make it"})
            await self._client.session_update(session, done)
        failed = acp.start_tool_call("t2", "test", kind="execute", status="failed")
        await self._client.session_update(session, failed)
        await self._say(session, "It is ")
        await self._say(session, "done.")
        await self._cost(session, 1.75)
        used = Usage(total_tokens=46, input_tokens=30, output_tokens=9, cached_read_tokens=7)
        return PromptResponse(stop_reason="end_turn", usage=used)

    async def _asks(self, session: str) -> PromptResponse:
        heard = []
        for kind in ("read", "search", "edit", "execute", "delete", "other", "switch_mode"):
            call = ToolCallUpdate(tool_call_id=kind, title=f"a {kind}", kind=kind)
            answer = await self._client.request_permission(
                session_id=session, tool_call=call, options=OPTIONS
            )
            chosen = answer.outcome
            is_chosen = isinstance(chosen, AllowedOutcome)
            heard.append(f"{kind}={ANSWERS[chosen.option_id] if is_chosen else 'none'}")
        await self._say(session, " ".join(heard))
        return PromptResponse(stop_reason="end_turn")

    async def _allows_only(self, session: str) -> PromptResponse:
        call = ToolCallUpdate(tool_call_id="x", title="an edit", kind="edit")
        answer = await self._client.request_permission(
            session_id=session, tool_call=call, options=OPTIONS[:2]
        )
        await self._say(session, answer.outcome.outcome)
        return PromptResponse(stop_reason="end_turn")

    async def _waits(self, session: str) -> PromptResponse:
        await self._say(session, "half")
        await self._cancelled.wait()
        return PromptResponse(stop_reason="cancelled")

    async def _toils(self, session: str) -> PromptResponse:
        number = 0
        while not self._cancelled.is_set():
            number += 1
            both = [f"{number}{half}" for half in "ab"]
            for name in both:
                call = acp.start_tool_call(name, f"dig {name}", kind="execute", status="pending")
                await self._client.session_update(session, call)
            for name in both:
                done = acp.update_tool_call(name, status="completed")
                await self._client.session_update(session, done)
        return PromptResponse(stop_reason="cancelled")

    async def _hangs(self, session: str) -> PromptResponse:
        subprocess.Popen(("sleep", "600"))
        await self._say(session, "half")
        await asyncio.Event().wait()
        raise AssertionError

    async def _refuses(self, session: str) -> PromptResponse:
        await self._say(session, "I will not.")
        return PromptResponse(stop_reason="refusal")

    async def _stops(self, session: str) -> PromptResponse:
        return PromptResponse(stop_reason="cancelled")

    async def _silent(self, session: str) -> PromptResponse:
        return PromptResponse(stop_reason="end_turn")

    async def _limited(self, session: str) -> PromptResponse:
        raise acp.RequestError(429, "You have reached your usage limit")

    async def _throttled(self, session: str) -> PromptResponse:
        raise acp.RequestError(503, "Slow down")

    async def _overloaded(self, session: str) -> PromptResponse:
        raise acp.RequestError.internal_error({"details": "529 Overloaded"})

    async def _broken(self, session: str) -> PromptResponse:
        raise acp.RequestError.internal_error({"details": "no such file"})

    async def _dies(self, session: str) -> PromptResponse:
        await self._say(session, "half")
        print("a bad end", file=sys.stderr, flush=True)
        os._exit(3)

    async def _garbles(self, session: str) -> PromptResponse:
        for line in (b"loading...", b"[1, 2]", b'{"id": {}}', b"\xff\xfe", b"[" * 5000, b""):
            os.write(1, line + b"\n")
        unknown = {"sessionUpdate": "from_the_future", "x": 1}
        updates: list[Any] = [unknown, {"sessionUpdate": "agent_message_chunk"}, 7, None]
        for update in updates:
            self._raw("session/update", {"sessionId": session, "update": update})
        self._raw("session/from_the_future", {})
        self._raw("session/update", "no object")
        return await self._works(session)

    async def _floods(self, session: str) -> PromptResponse:
        os.set_blocking(1, True)
        while True:
            os.write(1, b"y\n" * 4096)

    async def _endless(self, session: str) -> PromptResponse:
        os.set_blocking(1, True)
        while True:
            os.write(1, b"y" * 65536)

    async def _wants_files(self, session: str) -> PromptResponse:
        try:
            await self._client.read_text_file(session_id=session, path="/etc/hostname")
        except acp.RequestError as refusal:
            await self._say(session, str(refusal))
        return PromptResponse(stop_reason="max_tokens")

    def _raw(self, method: str, params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        os.write(1, json.dumps(message).encode() + b"\n")

    async def _say(self, session: str, text: str) -> None:
        await self._client.session_update(session, acp.update_agent_message_text(text))

    async def _cost(self, session: str, amount: float) -> None:
        cost = Cost(amount=amount, currency="USD")
        update = UsageUpdate(used=1, size=2, cost=cost, session_update="usage_update")
        await self._client.session_update(session, update)


if __name__ == "__main__":
    fake: Any = Fake(sys.argv[1])
    asyncio.run(acp.run_agent(fake, use_unstable_protocol=True))
