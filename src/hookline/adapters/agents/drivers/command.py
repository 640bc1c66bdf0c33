"""The driver `command`: any program that takes a prompt and prints its answer."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from hookline.adapters.agents.health import examined
from hookline.adapters.agents.known_agents import UNKNOWN
from hookline.adapters.agents.lines import private_file, run_program, timed_out
from hookline.adapters.agents.problems import NOT_STARTED, problem, unable
from hookline.domain.sessions.turns import AgentEvent, AgentTurn
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from hookline.ports.agents import AgentHealth, DriverTurn, HealthCheck, Profile, Reports

NEEDS = ("command",)
PROMPT, PROMPT_FILE = "HOOKLINE_PROMPT", "HOOKLINE_PROMPT_FILE"
_AN_OPTION = (
    "the prompt begins with '-' and would be read as an option: "
    f'put -- "${PROMPT}" into the command if it takes that, or use `input: stdin`'
)


def reports(profile: Profile) -> Reports:
    """Such a program has no way to say what it cost."""
    return "nothing"


async def health(profile: Profile, check: HealthCheck) -> AgentHealth:
    """The version of an agent that Hookline knows."""
    return await examined(profile.command or "", check)


async def turn(profile: Profile, talk: DriverTurn) -> AgentTurn:
    """Start the program with the prompt; what it prints is the agent's text."""
    line = " ".join((profile.command or "", *map(shlex.quote, profile.args)))
    talk = talk.afresh()  # such a program remembers nothing
    request = talk.request
    request.on_conversation(request.env.get("HOOKLINE_IDEMPOTENCY_KEY", ""))
    if profile.input == "stdin":
        return await _run(line, talk, {}, None)
    if profile.input == "argument":
        if PROMPT not in line and request.prompt.startswith("-"):
            return AgentTurn(error=_AN_OPTION)
        return await _run(_with(line, PROMPT), talk, {PROMPT: request.prompt})
    content = request.prompt.encode("utf-8", "replace")
    with private_file(content, "hookline-prompt-", ".md") as path:
        return await _run(_with(line, PROMPT_FILE), talk, {PROMPT_FILE: path})


def _with(line: str, variable: str) -> str:
    """The line with the prompt as its last word, unless it says itself where the prompt goes."""
    return line if variable in line else f'{line} "${variable}"'


async def _run(
    line: str, talk: DriverTurn, more: dict[str, str], stdin: bytes | None = b""
) -> AgentTurn:
    def hear(chunk: bytes) -> None:
        talk.request.on_event(AgentEvent(type="text", text=chunk.decode("utf-8", "replace")))

    try:
        done = await run_program(("/bin/sh", "-c", line), talk, more, stdin, hear)
    except CannotStart as why:
        return AgentTurn(error=f"{why}; a long prompt needs `input: stdin` or `input: file`")
    error = None
    if done.timed_out:
        error = timed_out(talk.request.timeout)
    elif done.exit_code:
        error = f"the agent exited {done.exit_code}: {done.stderr.strip()[-300:]}".rstrip(": ")
    if error is not None and done.exit_code in NOT_STARTED:
        return unable(problem(UNKNOWN, "missing", error))
    return AgentTurn(text=done.stdout, error=error)
