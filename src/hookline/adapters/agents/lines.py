"""How the programs of agents are started, and the lines read of those that print messages."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.agents.steps import StepCount
from hookline.adapters.processes.identity import SIGKILL
from hookline.domain.sessions.turns import AgentEvent, EventKind
from hookline.domain.text.display import line_of
from hookline.ports.processes import Finished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping, Sequence

    from hookline.domain.sessions.turns import AgentTurn
    from hookline.ports.agents import DriverTurn

LINE_LIMIT = 8 * 1024 * 1024
TEXT_LIMIT = 1024 * 1024
SHOWN = 300
DETAIL = 200

Take = Callable[[bytes], None]


class OutputLines:
    """Cuts an agent's output into lines; lines that are not messages are skipped and counted."""

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
        """The output is over; the last line may lack its newline."""
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


async def run_program(
    argv: Sequence[str],
    talk: DriverTurn,
    more: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Finished:
    """Run a program of an agent, with the prompt on its stdin if nothing else is given.

    Raises CannotStart.
    """
    request = talk.request
    given = request.prompt.encode("utf-8", "replace") if stdin is None else stdin
    return await talk.processes.run(
        argv,
        cwd=talk.folder,
        env={**request.env, **(more or {})},
        timeout=request.timeout,
        stdin=given,
        on_start=request.on_start,
        on_output=on_output,
    )


async def listen(
    argv: Sequence[str],
    talk: DriverTurn,
    take: Take,
    more: Mapping[str, str] | None = None,
    steps: StepCount | None = None,
) -> Finished:
    """Start an agent with the prompt on its stdin and hand over its lines as they come.

    With `steps`, which `take` counts, it is killed once it takes too many. Raises CannotStart.
    """
    lines = OutputLines(take)

    def hear(chunk: bytes) -> None:
        lines.feed(chunk)
        if steps is not None and steps.ending and not patience.expired():
            patience.reschedule(0)

    try:
        async with asyncio.timeout(None) as patience:
            done = await run_program(argv, talk, more, on_output=hear)
    except TimeoutError:
        if not patience.expired():
            raise
        done = Finished(tuple(argv), -SIGKILL, "", "", 0.0)
    lines.end()
    if lines.skipped:
        many = f"{lines.skipped} lines" if lines.skipped > 1 else "a line"
        notice(talk, f"skipped {many} of unreadable agent output: {lines.first_skipped}")
    return done


async def in_conversation(
    talk: DriverTurn,
    resume: Callable[[], Awaitable[AgentTurn | None]] | None,
    begin: Callable[[], Awaitable[AgentTurn | None]],
) -> AgentTurn:
    """The turn in its conversation if the agent knows it, else in a new one."""
    if resume is not None and (heard := await resume()) is not None:
        return heard
    if wanted := talk.request.conversation:
        notice(talk, f"conversation {wanted} is unknown here; the agent starts a new one")
    heard = await begin()
    assert heard is not None
    return heard


def timed_out(timeout: float) -> str:
    """Why a turn failed that took too long."""
    return f"the agent timed out after {timeout:g} s"


def failure(done: Finished, timeout: float) -> str | None:
    """Why a program that is over did not end as it should; None if it did."""
    if done.timed_out:
        return timed_out(timeout)
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
    return line_of(text[: 4 * limit], limit)


def brief(text: str) -> str:
    """The same, as short as the detail of a tool."""
    return shown(text, DETAIL)


def described(value: Any) -> str:
    """A tool's arguments, bounded."""
    return brief(msgspec.json.encode(value).decode() if value else "")


def notice(talk: DriverTurn, text: str) -> None:
    """Report to those who watch the turn."""
    talk.request.on_event(AgentEvent(type="notice", text=shown(text)))


class HeardTurn:
    """What the lines of a turn said so far."""

    def __init__(self, talk: DriverTurn) -> None:
        self.steps = StepCount(talk.request.max_turns)
        self._talk = talk
        self._text = ""
        self._tools = 0

    def _tell(self, kind: EventKind, **about: Any) -> None:
        self._talk.request.on_event(AgentEvent(type=kind, **about))


@contextmanager
def private_file(content: bytes, prefix: str = "hookline-", suffix: str = ".json") -> Iterator[str]:
    """A file that only this user can read, for as long as it is needed; its path."""
    handle, path = tempfile.mkstemp(prefix=prefix, suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield path
    finally:
        os.unlink(path)
