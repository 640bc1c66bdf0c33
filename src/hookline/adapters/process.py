"""The one place that starts processes: with a deadline, bounded output, and nothing left behind.

A subprocess.Popen whose pipes and pidfd are watched by the event loop. asyncio's own subprocess
layer reaps a program before its group can be killed, and costs a thread or a global watcher.
"""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from hookline.adapters.capture import Capture
from hookline.adapters.dialogue import DRAIN_SECONDS, spoken_with
from hookline.adapters.identity import SIGKILL
from hookline.adapters.leader import Leader
from hookline.ports.processes import TURN_MARK, CannotStart, Finished

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from typing import IO

    from hookline.adapters.reaper import Reaper
    from hookline.domain.cleaning import Cleaner, Stream
    from hookline.ports.processes import Dialogue, ProcessGroup

CHUNK = 64 * 1024
# A killed process that hangs in the kernel, such as on a dead network disk, is left to it.
STUCK_SECONDS = 2.0


class LocalProcesses:
    """Runs programs on this machine. `blobs` is the folder for outputs too long to be kept.

    What they print is cleaned; with `exact`, stdout is data and comes byte for byte. The `reaper`
    ends them if this process is killed.
    """

    def __init__(
        self,
        blobs: str,
        cleaner: Cleaner | None = None,
        *,
        exact: bool = False,
        reaper: Reaper | None = None,
    ) -> None:
        self._blobs = blobs
        self._cleaner = cleaner
        self._exact = exact
        self._reaper = reaper

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
        loop = asyncio.get_running_loop()
        started = loop.time()
        process = start(argv, cwd, env, piped=bool(stdin))
        cleaning = None if self._exact else self._cleaning()
        # Whoever listens takes all of it; nothing of it is left on the disk.
        blobs = self._blobs if on_output is None else None
        stdout = Capture(blobs, cleaning, told=on_output is not None)
        child = _Child(loop, process, stdout, Capture(None, self._cleaning()), on_output)
        watched = _Watched(self._reaper, env, on_start)
        try:
            watched.begin(child.group())
            child.watch(timeout, stdin)
            await child.done
            return child.finished(tuple(argv), loop.time() - started)
        finally:
            child.close()
            watched.end()

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
        process = start(argv, cwd, env, piped=True)
        watched = _Watched(self._reaper, env, on_start)
        try:
            async with spoken_with(
                process,
                timeout=timeout,
                line_limit=line_limit,
                on_start=watched.begin,
                cleaning=self._cleaning(),
            ) as dialogue:
                yield dialogue
        finally:
            watched.end()

    def _cleaning(self) -> Stream | None:
        return None if self._cleaner is None else self._cleaner.stream()


class _Watched:
    """Tells the reaper and whoever started a program that it runs, and the reaper of its end."""

    def __init__(
        self,
        reaper: Reaper | None,
        env: Mapping[str, str],
        on_start: Callable[[ProcessGroup], None] | None,
    ) -> None:
        self._reaper = reaper
        self._turn = env.get(TURN_MARK)
        self._on_start = on_start
        self._group: ProcessGroup | None = None

    def begin(self, group: ProcessGroup) -> None:
        """The program is there."""
        if self._reaper is not None:
            self._group = group
            self._reaper.watch(group, f"{TURN_MARK}={self._turn}" if self._turn else None)
        if self._on_start is not None:
            self._on_start(group)

    def end(self) -> None:
        """Nothing is left of it."""
        if self._reaper is not None and self._group is not None:
            self._reaper.forget(self._group)


class _Child:
    """One running program: what the event loop calls when something happens to it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: subprocess.Popen[bytes],
        stdout: Capture,
        stderr: Capture,
        on_output: Callable[[bytes], None] | None,
    ) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.done: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._process = process
        self._on_output = on_output
        self._stdout = stdout
        self._stderr = stderr
        self._readers: dict[IO[bytes], Capture] = {
            process.stdout: self._stdout,
            process.stderr: self._stderr,
        }
        self._input = memoryview(b"")
        self._leader = Leader(loop, process, self._exited)
        self._timers: list[asyncio.TimerHandle] = []
        self._timed_out = False

    def group(self) -> ProcessGroup:
        """The group's name."""
        return self._leader.group()

    def watch(self, timeout: float, stdin: bytes) -> None:
        """Begin to read, to write, and to wait for the end."""
        for pipe, capture in self._readers.items():
            os.set_blocking(pipe.fileno(), False)
            self._loop.add_reader(pipe.fileno(), self._read, pipe, capture)
        self._leader.watch()
        self._later(timeout, self._expire)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._input = memoryview(stdin)
            self._write()
            if self._input:
                self._loop.add_writer(self._process.stdin.fileno(), self._write)

    def finished(self, argv: tuple[str, ...], duration: float) -> Finished:
        """The result, once `done` is."""
        code = self._process.returncode
        self._tell(self._stdout.end(), self._stdout)
        self._stderr.end()
        return Finished(
            argv=argv,
            exit_code=-SIGKILL if code is None else code,
            stdout=self._stdout.text(),
            stderr=self._stderr.text(),
            duration=duration,
            timed_out=self._timed_out,
            stdout_bytes=self._stdout.total,
            blob=self._stdout.publish(),
        )

    def close(self) -> None:
        """Let go of everything; a program that still runs is killed with its group."""
        for timer in self._timers:
            timer.cancel()
        self._stop_writing()
        for pipe in tuple(self._readers):
            self._stop_reading(pipe)
        self._leader.close()
        self._stdout.discard()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._timers.append(self._loop.call_later(seconds, act))

    def _read(self, pipe: IO[bytes], capture: Capture) -> None:
        try:
            chunk = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._take(chunk, capture)
        else:
            self._stop_reading(pipe)
            self._settle()

    def _take(self, chunk: bytes, capture: Capture) -> None:
        self._tell(capture.feed(chunk), capture)

    def _tell(self, clean: bytes, capture: Capture) -> None:
        if clean and self._on_output is not None and capture is self._stdout:
            self._on_output(clean)

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            written = os.write(self._process.stdin.fileno(), self._input)
        except BlockingIOError:
            return
        except BrokenPipeError:  # a program need not read what it is given
            written = len(self._input)
        self._input = self._input[written:]
        if not self._input:
            self._stop_writing()

    def _exited(self) -> None:
        self._stop_writing()
        self._later(DRAIN_SECONDS, self._cut)
        self._settle()

    def _expire(self) -> None:
        if self._leader.kill():
            self._timed_out = True
            self._stop_writing()
            self._later(STUCK_SECONDS, self._cut)

    def _cut(self) -> None:
        """Take what already lies in the pipes, and wait no longer."""
        for pipe, capture in tuple(self._readers.items()):
            with suppress(BlockingIOError):
                self._take(os.read(pipe.fileno(), CHUNK), capture)
            self._stop_reading(pipe)
        self._finish()

    def _settle(self) -> None:
        if not self._readers and self._process.returncode is not None:
            self._finish()

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _stop_reading(self, pipe: IO[bytes]) -> None:
        if self._readers.pop(pipe, None) is not None:
            self._loop.remove_reader(pipe.fileno())
            pipe.close()

    def _stop_writing(self) -> None:
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            self._loop.remove_writer(pipe.fileno())
            pipe.close()


def start(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], *, piped: bool
) -> subprocess.Popen[bytes]:
    """Start a program as the leader of a group of its own, its output in pipes."""
    try:
        return subprocess.Popen(
            argv,
            bufsize=0,
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart(_reason(argv[0], cwd, error)) from error
    except ValueError as error:  # a NUL byte, or text that no encoding can carry
        raise CannotStart(f"cannot start {argv[0]}: {error}") from error


def _reason(program: str, cwd: str, error: OSError) -> str:
    if error.filename == cwd and error.filename != program:
        return f"cannot start {program} in {cwd}: {error.strerror}"
    if error.errno == errno.ENOENT:
        if os.path.isfile(program):
            return f"cannot start {program}: the interpreter that its first line names is missing"
        return f"cannot start {program}: there is no such program"
    if error.errno == errno.EACCES:
        return f"cannot start {program}: it may not be executed; `chmod +x` makes it executable"
    if error.errno == errno.ENOEXEC:
        return f"cannot start {program}: it is no program; a script begins with a #!/bin/sh line"
    if error.errno == errno.E2BIG:
        return f"cannot start {program}: its arguments and environment are too long"
    return f"cannot start {program}: {error.strerror}"
