"""The one place that starts processes: with a deadline, bounded output, and nothing left behind.

A subprocess.Popen whose pipes and pidfd are watched by the event loop. asyncio's own subprocess
layer reaps a program before its group can be killed, and costs a thread or a global watcher.
"""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.processes.capture import Capture
from hookline.adapters.processes.dialogue import DRAIN_SECONDS, LocalDialogue
from hookline.adapters.processes.identity import SIGKILL, has_proc
from hookline.adapters.processes.leader import Leader
from hookline.adapters.processes.reaper import Reaper
from hookline.domain.text.cleaning import Cleaner
from hookline.ports.processes import CALL_MARK, TURN_MARK, CannotStart, Finished

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from typing import IO

    from hookline.domain.text.cleaning import Stream
    from hookline.ports.processes import Dialogue, ProcessGroup

CHUNK = 64 * 1024
_KEEPER = os.path.join(os.path.dirname(__file__), "turn_keeper_process.py")
# A killed process that hangs in the kernel, such as on a dead network disk, is left to it.
STUCK_SECONDS = 2.0
_REASONS = {
    errno.ENOENT: "program not found",
    errno.EACCES: "it is not executable; run `chmod +x`",
    errno.ENOEXEC: "it is not a program; a script begins with a line such as #!/bin/sh",
    errno.E2BIG: "its arguments and environment are too long",
}


class LocalProcesses(msgspec.Struct, frozen=True):
    """Runs programs on this machine. `blobs` is the folder for outputs too long to be kept.

    What they print is cleaned; with `exact`, stdout is data and comes byte for byte. The `reaper`
    ends them if this process is killed.
    """

    blobs: str
    cleaner: Cleaner | None = None
    exact: bool = False
    reaper: Reaper | None = None

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
        loop = asyncio.get_running_loop()
        started = loop.time()
        process = self._start(argv, cwd, env, piped=bool(stdin))
        cleaning = None if self.exact else self._cleaning()
        # Whoever listens takes all of it; nothing of it is left on the disk.
        blobs = self.blobs if on_output is None else None
        stdout = Capture(blobs, cleaning, told=on_output is not None)
        child = _Child(loop, process, stdout, Capture(None, self._cleaning()), on_output)
        group = child.leader.group()
        try:
            self._begin(group, env, on_start)
            child.watch(timeout, stdin)
            await child.done
            return child.finished(tuple(argv), loop.time() - started)
        finally:
            child.close()
            self._end(group)

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
        process = self._start(argv, cwd, env, piped=True)
        dialogue = LocalDialogue(process, line_limit, self._cleaning())
        group = dialogue.leader.group()
        try:
            self._begin(group, env, on_start)
            await dialogue.open(timeout)
            yield dialogue
        finally:
            dialogue.close()
            self._end(group)

    def _start(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], *, piped: bool
    ) -> subprocess.Popen[bytes]:
        """Start a program that the reaper knows of, whenever this process is killed."""
        if self.reaper is None or (mark := _mark(env)) is None:
            return start(argv, cwd, env, piped=piped)
        self.reaper.expect(mark)
        try:
            return start(argv, cwd, env, piped=piped)
        except BaseException:
            self.reaper.expect_no_more(mark)
            raise

    def _begin(
        self,
        group: ProcessGroup,
        env: Mapping[str, str],
        on_start: Callable[[ProcessGroup], None] | None,
    ) -> None:
        """A program has started: report it to the reaper and to its caller."""
        turn = env.get(TURN_MARK)
        if self.reaper is not None:
            self.reaper.watch(group, f"{TURN_MARK}={turn}" if turn else None)
            if (mark := _mark(env)) is not None:
                self.reaper.expect_no_more(mark)
        if on_start is not None:
            on_start(group)

    def _end(self, group: ProcessGroup) -> None:
        """Nothing is left of it."""
        if self.reaper is not None:
            self.reaper.forget(group)

    def _cleaning(self) -> Stream | None:
        return None if self.cleaner is None else self.cleaner.stream()


def _mark(env: Mapping[str, str]) -> str | None:
    """What only one call's programs have in their environment: what this process has not."""
    marks = (name for name in (TURN_MARK, CALL_MARK) if env.get(name) not in ("", None))
    own = (name for name in marks if env[name] != os.environ.get(name))
    return next((f"{name}={env[name]}" for name in own), None)


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
        self._readers: dict[IO[bytes], Capture] = {process.stdout: stdout, process.stderr: stderr}
        self._input = memoryview(b"")
        self.leader = Leader(loop, process, self._exited)
        self._timers: list[asyncio.TimerHandle] = []
        self._timed_out = False

    def watch(self, timeout: float, stdin: bytes) -> None:
        """Begin to read, to write, and to wait for the end."""
        for pipe, capture in self._readers.items():
            os.set_blocking(pipe.fileno(), False)
            self._loop.add_reader(pipe.fileno(), self._read, pipe, capture)
        self.leader.watch()
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
        self.leader.close()
        self._stdout.discard()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._timers.append(self._loop.call_later(seconds, act))

    def _read(self, pipe: IO[bytes], capture: Capture) -> None:
        try:
            chunk = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._tell(capture.feed(chunk), capture)
        else:
            self._stop_reading(pipe)
            self._settle()

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
        if self.leader.kill():
            self._timed_out = True
            self._stop_writing()
            self._later(STUCK_SECONDS, self._cut)

    def _cut(self) -> None:
        """Take what is already in the pipes, and wait no longer."""
        for pipe, capture in tuple(self._readers.items()):
            with suppress(BlockingIOError):
                self._tell(capture.feed(os.read(pipe.fileno(), CHUNK)), capture)
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
    """Start a program as the leader of its own group, its output in pipes."""
    try:
        return subprocess.Popen(
            _kept(argv, cwd, env),
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


def _kept(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> Sequence[str]:
    """The line that runs a program with a keeper, if it is a turn's and the system can.

    A process that leaves its group and forgets its environment is found by nothing but its
    parents, and an orphan's parent is the first process above it that asked to be: the keeper.
    """
    if TURN_MARK not in env or not has_proc():
        return argv
    _find(argv[0], cwd, env)
    path = os.pathsep.join(filter(None, sys.path))
    own = (sys.executable, "-I", "-S", _KEEPER, path, TURN_MARK, env.get("LC_CTYPE", ""))
    return (*own, *argv)


def _find(program: str, cwd: str, env: Mapping[str, str]) -> None:
    """Fail as the start of the program itself would: its keeper is always there."""
    folders = (cwd,) if "/" in program else os.get_exec_path(env)
    found = [path for path in (os.path.join(at, program) for at in folders) if os.path.isfile(path)]
    if not any(os.access(path, os.X_OK) for path in found) and os.path.isdir(cwd):
        number = errno.EACCES if found else errno.ENOENT
        raise OSError(number, os.strerror(number), program)


def _reason(program: str, cwd: str, error: OSError) -> str:
    if error.filename == cwd and error.filename != program:
        return f"cannot start {program} in {cwd}: {error.strerror}"
    if error.errno == errno.ENOENT and os.path.isfile(program):
        return f"cannot start {program}: the interpreter that its first line names is missing"
    return f"cannot start {program}: {_REASONS.get(error.errno or 0, error.strerror)}"
