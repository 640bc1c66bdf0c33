"""A terminal of a given size with a command in it: what a person sees, and what they type."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING

import pyte

from tests.e2e.conftest import PATIENCE, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.e2e.conftest import Cli

INTERRUPT = b"\x03"
# Says a little, then waits for the file `go`; what stands in `say` is its last word.
AGENT = """\
cat > prompt.$HOOKLINE_ITERATION
echo "reading the tests"
touch working.$HOOKLINE_ITERATION
while [ ! -e go ]; do sleep 0.02; done
if [ -e say ]; then cat say; fi
"""
PROMISE = "<promise>COMPLETE</promise>\n"
CONFIGURATION = """\
agents:
  bot: {driver: command, command: "sh agent.sh", prices: {input: 0, output: 0}}
"""
# With the blanks before it: a time is aligned at its right, and may need more room or less.
_TIMES = re.compile(r" *\b(?:\d+(?:\.\d)?s|\d+m\d\ds)\b")
_SPINNER = re.compile("^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")


def prepare(cli: Cli, more: str = "", *, say: str = PROMISE, go: bool = False) -> None:
    """A project whose agent works until the test lets it go."""
    cli.put("agent.sh", AGENT)
    cli.put("say", say)
    cli.configure(CONFIGURATION + more)
    if go:
        cli.put("go", "")


class Terminal:
    """Runs a command of Hookline in a pseudo terminal and keeps what its screen shows."""

    def __init__(
        self,
        cli: Cli,
        *args: str,
        columns: int,
        rows: int,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=1000, ratio=1.0)
        self._stream = pyte.ByteStream(self.screen)
        self._lock = threading.Lock()
        self.bytes = b""
        self._master, slave = pty.openpty()
        self._closing, self._close = os.pipe()
        self.resize(columns, rows)
        self.process = subprocess.Popen(
            (*program, *args),
            cwd=cli.root,
            env={**cli.env, "TERM": "xterm-256color", **(env or {})},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select((self._master, self._closing), (), ())
            if self._closing in ready:
                return
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the last process of the terminal is gone
                return
            if not data:
                return
            with self._lock:
                self.bytes += data
                self._stream.feed(data)

    def type(self, keys: bytes) -> None:
        """What a person types."""
        os.write(self._master, keys)

    def resize(self, columns: int, rows: int) -> None:
        """The window gets another size."""
        with self._lock:
            self.screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """The window is closed; a terminal that is being read would stay open."""
        os.close(self._close)
        self._reader.join(timeout=PATIENCE)
        os.close(self._master)

    @property
    def shown(self) -> list[str]:
        """The rows of the screen."""
        with self._lock:
            return [row.rstrip() for row in self.screen.display]

    @property
    def everything(self) -> list[str]:
        """The rows of the screen and those that have left it at the top."""
        with self._lock:
            top = ["".join(row[x].data for x in range(len(row))) for row in self.screen.history.top]
            return [row.rstrip() for row in (*top, *self.screen.display)]

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until the screen shows something."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"no {what}:\n" + "\n".join(self.everything)
            time.sleep(0.01)

    def comes_to_show(self, rows: list[str]) -> None:
        """Wait until the screen shows these rows and nothing else; it is drawn piece by piece."""
        self.until(lambda: normal(self.shown) == rows, "screen of\n" + "\n".join(rows) + "\nbut")

    def shows(self, text: str) -> None:
        """Wait until a text stands on the screen or above it."""
        self.until(lambda: any(text in row for row in self.everything), repr(text))

    def ends(self) -> int:
        """Wait for the end of the command and of what it wrote; its exit code."""
        code = self.process.wait(timeout=PATIENCE)
        self._reader.join(timeout=PATIENCE)
        return code

    def close(self) -> None:
        """End the command."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def normal(rows: list[str]) -> list[str]:
    """Rows without what differs from run to run, and without the empty ones at the end."""
    kept = [_SPINNER.sub("*", _TIMES.sub(_same_width, row)) for row in rows]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _same_width(found: re.Match[str]) -> str:
    return "###s".rjust(len(found[0]))
