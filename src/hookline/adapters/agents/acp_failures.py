"""What goes wrong with an agent that speaks the Agent Client Protocol, in words for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.agents.waits import OVERLOADED, model_wait
from hookline.domain.turns import ModelWait

if TYPE_CHECKING:
    from acp import RequestError

    from hookline.ports.processes import Dialogue

MAX_WORDS = 300
AUTH_REQUIRED = -32000
NOT_STARTED = {126, 127}


class Failure(Exception):
    """Why a turn failed, how it ended, and whether it can be tried again later."""

    def __init__(
        self, message: str, wait: ModelWait | None = None, stop_reason: str = "error"
    ) -> None:
        super().__init__(message)
        self.wait = wait
        self.stop_reason = stop_reason


def refused(error: RequestError, logins: list[str]) -> Failure:
    """What an agent's error means."""
    words = f"{error} {_details(error.data)}".strip()[:MAX_WORDS]
    if error.code == AUTH_REQUIRED:
        ways = "; ".join(logins)[:MAX_WORDS]
        return Failure(f"the agent wants a login first: {words} ({ways})".replace(" ()", ""))
    return Failure(f"the agent reports: {words}", _wait(error.code, words))


def _wait(code: Any, words: str) -> ModelWait | None:
    """The protocol has no code for a model that takes no more; some send its server's status."""
    is_status = isinstance(code, int) and code in OVERLOADED
    return model_wait(words) or (ModelWait(kind="overloaded") if is_status else None)


def _details(data: Any) -> str:
    """The part of an error that agents put beside its message."""
    if isinstance(data, dict):
        for key in ("message", "details", "error", "errorName"):
            if isinstance(data.get(key), str):
                return f"({data[key]})"
        return f"({msgspec.json.encode(data).decode()})" if data else ""
    return f"({data})" if isinstance(data, str) else ""


async def hung_up(program: str, dialogue: Dialogue, problem: str | None) -> Failure:
    """Why an agent does not speak any more: its own complaint, if it made one."""
    if problem is not None:
        return Failure(f"the agent does not speak the Agent Client Protocol: {problem}")
    is_over = await dialogue.end(1.0)
    complaint = dialogue.stderr().strip()[-MAX_WORDS:]
    if not is_over:
        return Failure(f"the agent closed its output: {complaint}".rstrip(": "))
    if dialogue.exit_code in NOT_STARTED:
        return Failure(f"cannot start {program}: {complaint}".rstrip(": "))
    words = f"the agent exited {dialogue.exit_code}: {complaint}".rstrip(": ")
    return Failure(words, model_wait(complaint))
