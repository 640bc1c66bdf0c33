"""Dialogues with real programs: what is said both ways, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.process import LocalProcesses
from hookline.flows.effects import Gated
from hookline.ports.processes import CannotStart
from tests.groups import none_left

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from hookline.ports.processes import Dialogue, Processes, ProcessGroup

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

LIMIT = 1000


@pytest.fixture(params=["at once", "gated"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Processes:
    """Programs that begin at once, and those that wait until their group is stored."""
    local = LocalProcesses(str(tmp_path / "blobs"))
    return Gated(local) if request.param == "gated" else local


def speak(
    processes: Processes,
    line: str,
    *,
    timeout: float = 60,
    on_start: Callable[[ProcessGroup], None] | None = None,
) -> AbstractAsyncContextManager[Dialogue]:
    return processes.dialogue(
        ("/bin/sh", "-c", line),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        timeout=timeout,
        line_limit=LIMIT,
        on_start=on_start,
    )


def test_both_speak_in_turn(processes: Processes) -> None:
    async def talk() -> None:
        async with speak(processes, 'while read -r line; do echo "you said $line"; done') as it:
            for word in (b"one", b"two"):
                it.writer.write(word + b"\n")
                await it.writer.drain()
                assert await it.reader.readline() == b"you said " + word + b"\n"
            assert await it.end(30)
            assert (it.exit_code, it.timed_out) == (0, False)
            assert await it.reader.read() == b""

    asyncio.run(talk())


def test_the_end_of_a_program_and_its_complaint_are_known(processes: Processes) -> None:
    async def talk() -> None:
        async with speak(processes, "echo last words; echo why >&2; exit 3") as it:
            assert await it.reader.read() == b"last words\n"
            assert await it.end(30)
            assert (it.exit_code, it.stderr()) == (3, "why\n")

    asyncio.run(talk())


def test_a_complaint_is_capped(processes: Processes) -> None:
    async def talk() -> None:
        async with speak(processes, "seq 100000 >&2; echo done") as it:
            assert await it.reader.readline() == b"done\n"
            await it.end(30)
            assert it.stderr().startswith("1\n2\n")
            assert it.stderr().endswith("99999\n100000\n")
            assert "bytes left out" in it.stderr()
            assert len(it.stderr()) < 40_000

    asyncio.run(talk())


def test_a_line_is_bounded(processes: Processes) -> None:
    async def talk() -> None:
        async with speak(processes, "yes | tr -d '\\n'") as it:
            with pytest.raises(asyncio.LimitOverrunError):
                await it.reader.readuntil(b"\n")

    asyncio.run(talk())


@pytest.mark.parametrize("ending", ["leaves", "fails", "is cancelled"])
def test_whoever_speaks_no_more_leaves_nothing_behind(processes: Processes, ending: str) -> None:
    groups: list[ProcessGroup] = []

    async def talk() -> None:
        async with speak(processes, "sleep 600 & echo up; wait", on_start=groups.append) as it:
            assert await it.reader.readline() == b"up\n"
            if ending == "fails":
                raise LookupError
            if ending == "is cancelled":
                raise asyncio.CancelledError

    async def all_of_it() -> None:
        try:
            await talk()
        except (LookupError, asyncio.CancelledError):
            assert ending != "leaves"

    asyncio.run(all_of_it())
    assert none_left(groups[0].pgid)


def test_children_end_with_their_program(processes: Processes) -> None:
    groups: list[ProcessGroup] = []

    async def talk() -> None:
        # The child holds the pipe: the end of the output is not waited for.
        async with speak(processes, "sleep 600 & echo up", on_start=groups.append) as it:
            assert await it.reader.read() == b"up\n"
            assert await it.end(30)
            assert none_left(groups[0].pgid)

    asyncio.run(talk())


def test_an_escaped_child_that_holds_the_pipe_is_not_waited_for(
    processes: Processes, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"

    async def talk() -> None:
        line = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 600' & "
        line += f"while ! [ -s {pid_file} ]; do sleep 0.01; done; echo up"
        async with speak(processes, line) as it:
            assert await it.reader.read() == b"up\n"

    asyncio.run(talk())
    os.kill(int(pid_file.read_text()), 9)


def test_a_program_is_killed_at_its_deadline(processes: Processes) -> None:
    groups: list[ProcessGroup] = []

    async def talk() -> None:
        speaking = speak(processes, "sleep 600 & wait", timeout=0.3, on_start=groups.append)
        async with speaking as it:
            assert await it.reader.read() == b""
            assert await it.end(30)
            assert (it.timed_out, it.exit_code) == (True, -9)

    asyncio.run(talk())
    assert none_left(groups[0].pgid)


def test_a_program_that_does_not_end_by_itself_is_told_from_one_that_does(
    processes: Processes,
) -> None:
    async def talk() -> None:
        async with speak(processes, "exec sleep 600") as it:
            assert not await it.end(0.05)
            assert it.exit_code is None

    asyncio.run(talk())


def test_a_program_that_does_not_listen_breaks_nothing_at_its_end(processes: Processes) -> None:
    async def talk() -> None:
        async with speak(processes, "exec sleep 600") as it:
            it.writer.write(b"x" * 1_000_000)
        async with speak(processes, "exit 0") as it:
            it.writer.write(b"x" * 1_000_000)
            with pytest.raises(ConnectionError):
                await write_for_ever(it)

    async def write_for_ever(it: Dialogue) -> None:
        while True:
            await it.writer.drain()
            await asyncio.sleep(0)

    asyncio.run(talk())


def test_a_group_that_cannot_be_stored_does_not_work(tmp_path: Path) -> None:
    groups: list[ProcessGroup] = []

    def refuse(group: ProcessGroup) -> None:
        groups.append(group)
        raise LookupError("not stored")

    async def talk() -> None:
        processes = Gated(LocalProcesses(str(tmp_path / "blobs")))
        with pytest.raises(LookupError):
            async with speak(processes, f"touch {tmp_path / 'worked'}", on_start=refuse):
                pass

    asyncio.run(talk())
    assert none_left(groups[0].pgid)
    assert not (tmp_path / "worked").exists()


def test_a_missing_program_is_told(tmp_path: Path) -> None:
    async def talk() -> None:
        processes = LocalProcesses(str(tmp_path / "blobs"))
        missing = processes.dialogue(
            ("no-such-program",), cwd="/", env={}, timeout=1, line_limit=LIMIT
        )
        async with missing:
            pass

    with pytest.raises(CannotStart, match="program not found"):
        asyncio.run(talk())


def test_a_system_without_pidfd(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async def talk() -> None:
        async with speak(processes, "read -r line; echo $line; exit 4") as it:
            it.writer.write(b"hello\n")
            assert await it.reader.read() == b"hello\n"
            assert await it.end(30)
            assert it.exit_code == 4

    asyncio.run(talk())
