"""Programs of a run: none works before its process group is stored."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from hookline.ports.processes import Dialogue, Finished, Processes, ProcessGroup

_GATE = ("/bin/sh", "-c", 'read -r go || exit 125; exec "$@"', "sh")


class Gated:
    """Programs that begin their work only once their process group is stored.

    They wait for a line on stdin, which is written after `on_start`. If this process dies before,
    they see the end of stdin instead and end too: nobody is left whom a successor cannot find.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        stdin: bytes = b"",
        on_start: Callable[[ProcessGroup], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Finished:
        """Run a program to its end or its deadline; then nothing of its group is left."""
        return await self._processes.run(
            (*_GATE, *argv),
            cwd=cwd,
            env=env,
            timeout=timeout,
            stdin=b"\n" + stdin,
            on_start=on_start,
            on_output=on_output,
        )

    @asynccontextmanager
    async def dialogue(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        line_limit: int,
        on_start: Callable[[ProcessGroup], None] | None = None,
    ) -> AsyncIterator[Dialogue]:
        """Speak with a program; at the end of the block nothing of its group is left."""
        speaking = self._processes.dialogue(
            (*_GATE, *argv),
            cwd=cwd,
            env=env,
            timeout=timeout,
            line_limit=line_limit,
            on_start=on_start,
        )
        async with speaking as dialogue:
            dialogue.writer.write(b"\n")
            yield dialogue
