"""The driver `json`: a program that reads a turn as JSON from stdin and prints its answer as JSON.

It gets `{"prompt": ..., "conversation": ...}`, where the conversation is null in a new one, and
prints `{"text": ..., "conversation": ..., "usage": {"inputTokens": ..., "outputTokens": ...}}`.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.sessions.turns import AgentEvent, AgentTurn, Usage
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from hookline.ports.agents import DriverTurn, Profile

NEEDS = ("command",)


class Said(msgspec.Struct):
    """What the program prints."""

    text: str
    conversation: str
    usage: Usage = Usage()


async def turn(profile: Profile, talk: DriverTurn) -> AgentTurn:
    """One turn: what goes wrong is part of it, and nothing is raised."""
    request = talk.request if talk.request.conversation else talk.request.afresh()
    asked = {"prompt": request.prompt, "conversation": request.conversation}
    try:
        done = await talk.processes.run(
            (*shlex.split(profile.command or ""), *profile.args),
            cwd=talk.folder,
            env=request.env,
            timeout=request.timeout,
            stdin=msgspec.json.encode(asked),
            on_start=request.on_start,
        )
    except (CannotStart, ValueError) as problem:
        return AgentTurn(error=str(problem))
    if done.timed_out:
        return AgentTurn(error=f"the agent timed out after {request.timeout:g} s")
    if done.exit_code:
        return AgentTurn(error=f"the agent exited {done.exit_code}: {done.stderr.strip()[-300:]}")
    try:
        said = msgspec.json.decode(done.stdout, type=Said)
    except msgspec.MsgspecError as problem:
        return AgentTurn(error=f"the agent's answer cannot be read: {problem}")
    request.on_conversation(said.conversation)
    request.on_event(AgentEvent(type="text", text=said.text))
    return AgentTurn(text=said.text, conversation=said.conversation, usage=said.usage)
