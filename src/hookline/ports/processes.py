"""Starting programs: the one door, and what comes back through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict, Unpack

import msgspec

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager


# Every process of an agent's turn has this in its environment, in whichever group it is.
TURN_MARK = "HOOKLINE_TURN"
# And every program of a hook or an effect the key of its call.
CALL_MARK = "HOOKLINE_IDEMPOTENCY_KEY"


class ProcessGroup(msgspec.Struct, frozen=True):
    """A child's process group, named so that a reused pid is never mistaken for it."""

    pgid: int
    start_time: int
    boot_id: str


class Finished(msgspec.Struct, frozen=True):
    """A process that is over, with every process it started.

    stdout and stderr are capped, head and tail, with the cut marked; `blob` names the file that
    holds the whole of stdout when it was cut. A negative exit code is a signal's number.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    duration: float
    timed_out: bool = False
    stdout_bytes: int = 0
    blob: str | None = None


class CannotStart(Exception):
    """The program could not be started."""


class Dialogue(Protocol):
    """A running program that is spoken with: `writer` is its stdin, `reader` its stdout."""

    reader: StreamReader
    writer: StreamWriter
    timed_out: bool

    @property
    def exit_code(self) -> int | None:
        """How the program ended; None while it runs."""

    def stderr(self) -> str:
        """What the program complained about so far, capped."""

    async def end(self, grace: float) -> bool:
        """Close stdin and let the program end by itself; whether it did in time."""


class StartOptions(TypedDict):
    """Where and how long a program runs, and who is told which group it is."""

    cwd: str
    env: Mapping[str, str]
    timeout: float
    on_start: NotRequired[Callable[[ProcessGroup], None] | None]


class Processes(Protocol):
    """The one door through which programs are started."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
        **how: Unpack[StartOptions],
    ) -> Finished:
        """Run a program to its end or its deadline; then nothing of its group is left.

        `on_output` is given what the program prints on stdout, as it prints it; then no blob
        holds it.
        Raises CannotStart when there is no such program or it may not be executed.
        """

    def dialogue(
        self, argv: Sequence[str], *, line_limit: int, **how: Unpack[StartOptions]
    ) -> AbstractAsyncContextManager[Dialogue]:
        """Speak with a program; at the end of the block nothing of its group is left.

        It is killed at its deadline too. `line_limit` is how long a line of its stdout may be
        for those who read lines. Raises CannotStart as `run` does.
        """
