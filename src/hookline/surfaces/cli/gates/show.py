"""How verdicts look on a terminal. Used by every command about gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import shown_hook
from hookline.domain.text.terminal import padded
from hookline.hooks.verdicts import said_by
from hookline.surfaces.cli.live.lines import BAD, OK, OPEN, SKIPPED
from hookline.surfaces.cli.output import note, paint, printable, untrusted

if TYPE_CHECKING:
    from typing import TextIO

    from hookline.hooks.verdicts import GateVerdict
    from hookline.pipeline.gate_reviews import GateReview

MARKS = {"success": OK, "failure": BAD, "skip": SKIPPED, "pending": OPEN}
# So much of a remediation is shown; `--json` has it whole.
LINES, COLUMNS = 40, 200
# So much of a comment or an answer is shown.
MAX_SAID = 2000


def verdict_line(verdict: GateVerdict, stream: TextIO | None = None) -> str:
    """A verdict on one line."""
    mark, style = MARKS.get(verdict.status, ("?", "red"))
    took = "" if verdict.duration_ms is None else f"{verdict.duration_ms / 1000:.1f}s"
    hook = padded(shown_hook(verdict.hook or "-"), 24)
    message = untrusted(said_by(verdict.status, verdict.message), COLUMNS)
    line = f"  {paint(mark, style, stream)} {verdict.point:13} {hook} {took:>6}  {message}"
    return line.rstrip()


def output_lines(output: str) -> list[str]:
    """What a gate printed, its end where it is long: there programs say what went wrong."""
    lines = output.strip("\n").splitlines()
    left = len(lines) - LINES
    shown = [printable(each, COLUMNS) for each in lines[-LINES:]]
    cut = [f"… {left} earlier lines"] if left > 0 else []
    return [f"    {paint('│', 'dim')} {each}" for each in (*cut, *shown)]


def review_lines(found: GateReview) -> list[str]:
    """What a reviewer asks for, and what the author said to it."""
    answer = [f"the author said: {found.answer}"] if found.answer else []
    return [*found.comments, *answer]


def note_remediation(prompt: str | None) -> None:
    """What a gate wants to be fixed, for the person."""
    lines = (prompt or "").strip().splitlines()
    left = len(lines) - LINES
    shown = [printable(line, COLUMNS) for line in lines[:LINES]]
    for line in (*shown, *([f"… {left} more lines"] if left > 0 else [])):
        note(f"    {paint('│', 'dim', sys.stderr)} {line}")
