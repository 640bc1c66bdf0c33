"""Agents that print one JSON message per line: how they are started, and their lines read."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.identity import SIGKILL
from hookline.domain.turns import AgentEvent
from hookline.ports.processes import Finished

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookline.adapters.agents.drivers import Talk
    from hookline.adapters.agents.steps import Steps

LINE_LIMIT = 8 * 1024 * 1024
TEXT_LIMIT = 1024 * 1024
SHOWN = 300
DETAIL = 200

Take = Callable[[bytes], None]


class Lines:
    """Cuts an agent's output into lines; what is no message is skipped and counted."""

    def __init__(self, take: Take) -> None:
        self.skipped = 0
        self.first_skipped = ""
        self._take = take
        self._open = bytearray()
        self._too_long = False

    def feed(self, chunk: bytes) -> None:
        """More output, in pieces of any size."""
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._extend(piece)
            self._close()
        self._extend(rest)

    def end(self) -> None:
        """There is no more; the last line may have no end."""
        self._close()

    def _extend(self, piece: bytes) -> None:
        if len(self._open) + len(piece) > LINE_LIMIT:
            self._too_long = True
        else:
            self._open += piece

    def _close(self) -> None:
        line, self._open = bytes(self._open).strip(), bytearray()
        too_long, self._too_long = self._too_long, False
        if not line and not too_long:
            return
        try:
            if too_long:
                raise msgspec.DecodeError("the line is too long")
            self._take(line)
        except (msgspec.MsgspecError, RecursionError):
            self.skipped += 1
            self.first_skipped = self.first_skipped or line[:DETAIL].decode("utf-8", "replace")


async def listen(
    argv: Sequence[str],
    talk: Talk,
    take: Take,
    more: Mapping[str, str] | None = None,
    steps: Steps | None = None,
) -> Finished:
    """Start an agent with the prompt on its stdin and hand over its lines as they come.

    With `steps`, which `take` counts, it is killed once it takes too many. Raises CannotStart.
    """
    request = talk.request
    lines = Lines(take)

    def hear(chunk: bytes) -> None:
        lines.feed(chunk)
        if steps is not None and steps.ending and not patience.expired():
            patience.reschedule(0)

    try:
        async with asyncio.timeout(None) as patience:
            done = await talk.processes.run(
                argv,
                cwd=talk.folder,
                env={**request.env, **(more or {})},
                timeout=request.timeout,
                stdin=request.prompt.encode("utf-8", "replace"),
                on_start=request.on_start,
                on_output=hear,
            )
    except TimeoutError:
        if not patience.expired():
            raise
        done = Finished(tuple(argv), -SIGKILL, "", "", 0.0)
    lines.end()
    if lines.skipped:
        many = f"{lines.skipped} lines" if lines.skipped > 1 else "a line"
        notice(talk, f"skipped {many} of the agent's output, no message: {lines.first_skipped}")
    return done


def failure(done: Finished, timeout: float) -> str | None:
    """Why a program that is over did not end as it should; None if it did."""
    if done.timed_out:
        return f"the agent did not end within {timeout:g} s; it was killed"
    said = shown(_complaint(done.stderr))
    if done.exit_code < 0:
        return f"the agent was killed by signal {-done.exit_code}: {said}".rstrip(": ")
    if done.exit_code:
        return f"the agent exited {done.exit_code}: {said}".rstrip(": ")
    return None


def _complaint(stderr: str) -> str:
    """The part of stderr that says what went wrong, after whatever was logged before it."""
    text = stderr.strip()
    start = max(text.rfind("\nError"), text.rfind("\nerror"))
    return text[start + 1 :] if start >= 0 else text[-SHOWN:]


def shown(text: str, limit: int = SHOWN) -> str:
    """A text of an agent on one line, bounded."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def described(value: Any) -> str:
    """A tool's arguments, bounded."""
    return shown(msgspec.json.encode(value).decode() if value else "", DETAIL)


def notice(talk: Talk, text: str) -> None:
    """Tell whoever watches the turn."""
    talk.request.on_event(AgentEvent(type="notice", text=shown(text)))


@contextmanager
def private_file(value: Any) -> Iterator[str]:
    """A JSON file that only this user can read, for as long as it is needed; its path."""
    handle, path = tempfile.mkstemp(prefix="hookline-", suffix=".json")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(value))
        yield path
    finally:
        os.unlink(path)
