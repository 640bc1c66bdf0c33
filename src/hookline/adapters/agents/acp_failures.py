"""What it means that an agent fails over the Agent Client Protocol.

The protocol has one code, for a login that is missing. All else each agent tells in its own way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.adapters.agents.agent_records import opencode_error, qwen_limit
from hookline.adapters.agents.known_agents import GEMINI, OPENCODE, QWEN
from hookline.adapters.agents.problems import NOT_STARTED, Cause, FailedRequest, cause_of, problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp import RequestError

    from hookline.adapters.agents.known_agents import KnownAgent
    from hookline.domain.sessions.turns import AgentProblem
    from hookline.ports.processes import Dialogue

AUTH_REQUIRED = -32000
MAX_WORDS = 300
_STATUS = re.compile(r"(\d{3}) ")
# What Gemini CLI says about a status 404, which it does not pass on.
_NO_MODEL = re.compile(r"models/\S+ is not found\b")


class AcpFailure(Exception):
    """Why a turn failed, how it ended, and what has to happen before another one."""

    def __init__(
        self, message: str, cause: Cause | None = None, stop_reason: str = "error"
    ) -> None:
        self.cause = cause or Cause()
        self.stop_reason = stop_reason
        super().__init__(self.cause.problem.told if self.cause.problem else message)


def unable(found: AgentProblem) -> AcpFailure:
    """The agent cannot work until a person has repaired something."""
    return AcpFailure(found.told, Cause(problem=found))


def refused(
    agent: KnownAgent,
    error: RequestError,
    logins: list[str],
    conversation: str | None,
    env: Mapping[str, str],
) -> AcpFailure:
    """What an agent's error means."""
    words = f"{error} {_details(error.data)}".strip()[:MAX_WORDS]
    if error.code == AUTH_REQUIRED:
        told = _told(error.data)
        said = f"{error}: {told}" if told else str(error)
        return unable(problem(agent, "login", said, "; ".join(logins)[:MAX_WORDS]))
    failed = None
    if agent is OPENCODE and conversation is not None:
        failed = opencode_error(env, conversation)
    elif agent is QWEN and conversation is not None and error.code == 429:
        failed = qwen_limit(env, conversation)
    failed = failed or _failed_request(agent, error, words)
    return AcpFailure(f"the agent reports: {words}", cause_of(agent, failed))


def _failed_request(agent: KnownAgent, error: RequestError, words: str) -> FailedRequest:
    code: Any = error.code  # whatever the agent has sent
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    if agent is GEMINI:
        return _gemini(str(error), status)
    if agent is QWEN and (told := _STATUS.match(_told(error.data))):
        return FailedRequest(told.string[told.end() :], int(told[1]))
    return FailedRequest(words, status)


class _Reason(msgspec.Struct):
    reason: str | None = None


class _GoogleError(msgspec.Struct):
    code: int | None = None
    message: str = ""
    details: list[_Reason] = []


class _GoogleBody(msgspec.Struct):
    error: _GoogleError


def _gemini(said: str, status: int | None) -> FailedRequest:
    """Gemini CLI sends the status as its code, and 500 where it knows none."""
    if _NO_MODEL.match(said):
        return FailedRequest(said, code="model_not_found")
    try:
        body = typed.decode(said, _GoogleBody).error
    except msgspec.MsgspecError:
        return FailedRequest(said, None if status == 500 else status)
    reason = next((each.reason for each in body.details if each.reason), None)
    return FailedRequest(body.message, body.code, reason)


def _details(data: Any) -> str:
    """The part of an error that agents put next to its message."""
    told = _told(data)
    if not told and isinstance(data, dict) and data:
        told = msgspec.json.encode(data).decode()
    return f"({told})" if told else ""


def _told(data: Any) -> str:
    if isinstance(data, dict):
        named = (data.get(key) for key in ("message", "details", "error", "errorName"))
        return next((text for text in named if isinstance(text, str)), "")
    return data if isinstance(data, str) else ""


async def hung_up(
    agent: KnownAgent, program: str, dialogue: Dialogue, wrong: str | None
) -> AcpFailure:
    """Why an agent does not speak any more: its own complaint, if it made one."""
    if wrong is not None:
        return AcpFailure(f"the agent does not speak the Agent Client Protocol: {wrong}")
    is_over = await dialogue.end(1.0)
    complaint = dialogue.stderr().strip()[-MAX_WORDS:]
    if not is_over:
        return AcpFailure(f"the agent closed its output: {complaint}".rstrip(": "))
    if dialogue.exit_code in NOT_STARTED:
        said = f"cannot start {program}: {complaint}".rstrip(": ")
        return unable(problem(agent, "missing", said))
    words = f"the agent exited {dialogue.exit_code}: {complaint}".rstrip(": ")
    return AcpFailure(words, cause_of(agent, FailedRequest(complaint)))
