"""Drawing on a terminal: finished lines stay, the region below them is drawn over in place.

Writes past Python's buffers, so that who draws notices a reader that is gone or does not read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from hookline.surfaces.cli.live.lines import Piece, ViewLine, fitted, painted
from hookline.surfaces.cli.output import is_terminal, shown, write_all

# For terminals that do not know their size.
ROWS, COLUMNS = 24, 80
# The open step and this many rows below it, with the line of figures.
TALLEST = 7


def half(rows: int) -> int:
    """Room for many lines; half of the terminal is left to what is finished."""
    return max(1, rows // 2)


def most(rows: int) -> int:
    """Room for all that is open; the last finished line stays in sight."""
    return max(1, rows - 2)


def a_few(rows: int) -> int:
    """Room for one step; half of a small terminal is left to what is finished."""
    return min(TALLEST, half(rows))


class Screen:
    """A terminal, or a file that is only written to."""

    def __init__(
        self, stream: TextIO, environ: Mapping[str, str], room: Callable[[int], int] = half
    ) -> None:
        stream.flush()
        self._stream = stream
        self._file = stream.fileno()
        self._room = room
        self.is_live = is_terminal(stream) and environ.get("TERM", "") != "dumb"
        self._drawn = 0

    @property
    def room(self) -> int:
        """How many rows may be drawn over."""
        return self._room(self._size()[1])

    def show(self, finished: Sequence[ViewLine], region: Sequence[ViewLine] = ()) -> None:
        """Print lines that stay; below them, on a terminal, those that do not."""
        if not self.is_live:
            self._write("".join(f"{self._painted(line)}\n" for line in finished))
            return
        if not finished and not region and not self._drawn:
            return
        columns = self._size()[0] - 1  # the last column would move the cursor to the next row
        lines = [part for line in finished for part in fitted(line, columns)]
        text = "".join(f"{self._painted(line)}\x1b[K\n" for line in lines)
        # What a person types, as ^C, is behind the last line and must not begin another.
        drawn = _rows(region, columns - 3, self.room)
        text += "\x1b[K\n".join(map(self._painted, drawn))
        # To the first row of the region. A terminal that became narrower may have broken its lines;
        # those above them are finished and never drawn over.
        back = "\r" + (f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else "")
        self._write(f"{back}{text}\x1b[J")
        self._drawn = len(drawn)

    def ring(self) -> None:
        """Ring the terminal's bell."""
        if self.is_live:
            self._write("\a")

    def _size(self) -> tuple[int, int]:
        try:
            found = os.get_terminal_size(self._file)
        except OSError:  # the terminal is gone
            return COLUMNS, ROWS
        return found.columns or COLUMNS, found.lines or ROWS

    def _painted(self, line: ViewLine) -> str:
        return shown(painted(line.pieces, self._stream).rstrip(" "))

    def _write(self, text: str) -> None:
        if text:
            known = self._stream.encoding or "utf-8", self._stream.errors or "replace"
            write_all(self._file, text.encode(*known))


def _rows(region: Sequence[ViewLine], columns: int, room: int) -> list[ViewLine]:
    """The rows of a region: a line that hangs is shown whole, as long as there is room for all."""
    rows = [fitted(line, columns)[: None if line.hangs else 1] for line in region]
    while sum(map(len, rows)) > room and max(map(len, rows), default=1) > 1:
        longest = max(rows, key=len)
        longest.pop()
        longest[-1] = fitted(ViewLine((*longest[-1].pieces, Piece(" " * columns))), columns)[0]
    return [row for each in rows for row in each]
