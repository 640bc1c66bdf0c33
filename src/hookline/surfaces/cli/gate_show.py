"""How verdicts look on a terminal. Used by every command about gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.surfaces.cli.output import note, paint, printable, untrusted

if TYPE_CHECKING:
    from typing import TextIO

    from hookline.hooks.verdicts import Verdict

MARKS = {
    "success": ("✓", "green"),
    "failure": ("✗", "red"),
    "skip": ("–", "dim"),  # noqa: RUF001  # the mark of a skip everywhere
    "pending": ("●", "yellow"),
}
# So much of a remediation is shown; `--json` has it whole.
LINES, COLUMNS = 40, 200


def verdict_line(verdict: Verdict, stream: TextIO | None = None) -> str:
    """A verdict on one line."""
    mark, style = MARKS.get(verdict.status, ("?", "red"))
    took = "" if verdict.duration_ms is None else f"{verdict.duration_ms / 1000:.1f}s"
    hook = untrusted(verdict.hook or "-")
    message = untrusted(verdict.message, COLUMNS)
    line = f"  {paint(mark, style, stream)} {verdict.point:13} {hook:24} {took:>6}  {message}"
    return line.rstrip()


def note_remediation(prompt: str | None) -> None:
    """What a gate wants to be mended, for the person."""
    lines = (prompt or "").strip().splitlines()
    for line in lines[:LINES]:
        note(f"    {paint('│', 'dim', sys.stderr)} {printable(line, COLUMNS)}")
    if len(lines) > LINES:
        note(f"    {paint('│', 'dim', sys.stderr)} … {len(lines) - LINES} more lines")
