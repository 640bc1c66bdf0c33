"""The driver `command`: any program that takes a prompt and prints its answer."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hookline.domain.turns import AgentEvent, AgentTurn
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.agents.drivers import Talk

PROMPT, PROMPT_FILE = "HOOKLINE_PROMPT", "HOOKLINE_PROMPT_FILE"
_AN_OPTION = (
    "the prompt begins with '-' and would be read as an option: "
    f'put -- "${PROMPT}" into the command if it takes that, or use `input: stdin`'
)


async def turn(profile: Any, talk: Talk) -> AgentTurn:
    """Start the program with the prompt; what it prints is the agent's text."""
    line = " ".join((profile.command, *map(shlex.quote, profile.args)))
    talk = talk.afresh()  # such a program remembers nothing
    request = talk.request
    request.on_conversation(request.env.get("HOOKLINE_IDEMPOTENCY_KEY", ""))
    if profile.input == "stdin":
        return await _run(line, talk, {}, request.prompt.encode("utf-8", "replace"))
    if profile.input == "argument":
        if PROMPT not in line and request.prompt.startswith("-"):
            return AgentTurn(error=_AN_OPTION)
        return await _run(_with(line, PROMPT), talk, {PROMPT: request.prompt})
    with _prompt_file(request.prompt) as path:
        return await _run(_with(line, PROMPT_FILE), talk, {PROMPT_FILE: path})


def _with(line: str, variable: str) -> str:
    """The line with the prompt as its last word, unless it says itself where the prompt goes."""
    return line if variable in line else f'{line} "${variable}"'


async def _run(line: str, talk: Talk, more: dict[str, str], stdin: bytes = b"") -> AgentTurn:
    request = talk.request
    try:
        done = await talk.processes.run(
            ("/bin/sh", "-c", line),
            cwd=talk.folder,
            env={**request.env, **more},
            timeout=request.timeout,
            stdin=stdin,
            on_start=request.on_start,
            on_output=lambda chunk: request.on_event(_said(chunk)),
        )
    except CannotStart as problem:
        return AgentTurn(error=f"{problem}; a long prompt needs `input: stdin` or `input: file`")
    error = None
    if done.timed_out:
        error = f"the agent did not end within {request.timeout:g} s; it was killed"
    elif done.exit_code:
        error = f"the agent exited {done.exit_code}: {done.stderr.strip()[-300:]}".rstrip(": ")
    return AgentTurn(text=done.stdout, error=error)


def _said(chunk: bytes) -> AgentEvent:
    return AgentEvent(type="text", text=chunk.decode("utf-8", "replace"))


@contextmanager
def _prompt_file(prompt: str) -> Iterator[str]:
    handle, path = tempfile.mkstemp(prefix="hookline-prompt-", suffix=".md")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(prompt)
        yield path
    finally:
        os.unlink(path)
