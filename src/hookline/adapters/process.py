"""The one place that starts processes: with a deadline, bounded output, and nothing left behind.

A subprocess.Popen whose pipes and pidfd are watched by the event loop. asyncio's own subprocess
layer reaps a program before its group can be killed, and costs a thread or a global watcher.
"""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.capture import Capture
from hookline.adapters.identity import SIGKILL, process_identity, signal_group
from hookline.ports import CannotStart, Finished, ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

CHUNK = 64 * 1024
# A process that left the group can hold a pipe open for ever; its output is not waited for.
DRAIN_SECONDS = 0.2
# A killed process that hangs in the kernel, such as on a dead network disk, is left to it.
STUCK_SECONDS = 2.0
POLL_SECONDS = 0.01


class LocalProcesses:
    """Runs programs on this machine. `blobs` is the folder for outputs too long to be kept."""

    def __init__(self, blobs: str) -> None:
        self._blobs = blobs

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        stdin: bytes = b"",
        on_start: Callable[[ProcessGroup], None] | None = None,
    ) -> Finished:
        """Run a program to its end or its deadline; then nothing of its group is left."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        child = _Child(loop, _start(argv, cwd, env, piped=bool(stdin)), self._blobs)
        try:
            if on_start is not None:
                on_start(child.identity())
            child.watch(timeout, stdin)
            await child.done
            return child.finished(tuple(argv), loop.time() - started)
        finally:
            child.close()


class _Child:
    """One running program: what the event loop calls when something happens to it."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], blobs: str
    ) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.done: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._process = process
        self._stdout = Capture(blobs)
        self._stderr = Capture()
        self._readers: dict[IO[bytes], Capture] = {
            process.stdout: self._stdout,
            process.stderr: self._stderr,
        }
        self._input = memoryview(b"")
        self._pidfd = -1
        self._timers: list[asyncio.TimerHandle] = []
        self._timed_out = False

    def identity(self) -> ProcessGroup:
        """The group's name; the child is its leader, and cannot vanish before it is reaped."""
        pid = self._process.pid
        return process_identity(pid) or ProcessGroup(pid, 0, "")

    def watch(self, timeout: float, stdin: bytes) -> None:
        """Begin to read, to write, and to wait for the end."""
        for pipe, capture in self._readers.items():
            os.set_blocking(pipe.fileno(), False)
            self._loop.add_reader(pipe.fileno(), self._read, pipe, capture)
        self._await_exit()
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
        self._stop_waiting()
        if self._process.returncode is None:
            signal_group(self._process.pid)
            # Only after a cancellation: a killed process is gone in a moment, and no task of
            # a loop that may be closing has to outlive this one for it.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(DRAIN_SECONDS)
        self._stdout.discard()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._timers.append(self._loop.call_later(seconds, act))

    def _read(self, pipe: IO[bytes], capture: Capture) -> None:
        try:
            chunk = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        if chunk:
            capture.feed(chunk)
        else:
            self._stop_reading(pipe)
            self._settle()

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

    def _await_exit(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, or a sandbox without it
            self._poll()
        else:
            self._loop.add_reader(self._pidfd, self._exited)

    def _poll(self) -> None:
        if self._process.poll() is None:
            self._later(POLL_SECONDS, self._poll)
        else:
            self._exited()

    def _exited(self) -> None:
        # While its leader is not reaped, the group's number can belong to nobody else.
        signal_group(self._process.pid)
        self._process.poll()
        self._stop_waiting()
        self._stop_writing()
        self._later(DRAIN_SECONDS, self._cut)
        self._settle()

    def _expire(self) -> None:
        if self._process.returncode is None:
            self._timed_out = True
            signal_group(self._process.pid)
            self._stop_writing()
            self._later(STUCK_SECONDS, self._cut)

    def _cut(self) -> None:
        """Take what already lies in the pipes, and wait no longer."""
        for pipe, capture in tuple(self._readers.items()):
            with suppress(BlockingIOError):
                capture.feed(os.read(pipe.fileno(), CHUNK))
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

    def _stop_waiting(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1


def _start(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], *, piped: bool
) -> subprocess.Popen[bytes]:
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
