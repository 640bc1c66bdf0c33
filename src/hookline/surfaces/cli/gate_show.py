"""How verdicts look on a terminal. Used by every command about gates."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from hookline.flows.journal import inside
from hookline.hooks.names import short_name
from hookline.surfaces.cli.live_text import one_line, padded
from hookline.surfaces.cli.output import note, paint, printable, untrusted

if TYPE_CHECKING:
    from typing import TextIO

    from hookline.domain.runs import JournalEffect
    from hookline.flows.judgements import Judgement
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import Blobs

MARKS = {
    "success": ("✓", "green"),
    "failure": ("✗", "red"),
    "skip": ("–", "dim"),  # noqa: RUF001  # the mark of a skip everywhere
    "pending": ("●", "yellow"),
}
# So much of a remediation is shown; `--json` has it whole.
LINES, COLUMNS = 40, 200
# So much of a comment or an answer is shown.
MAX_SAID = 2000
UNTOLD = "it cannot be told yet"


def verdict_line(verdict: Verdict, stream: TextIO | None = None) -> str:
    """A verdict on one line."""
    mark, style = MARKS.get(verdict.status, ("?", "red"))
    took = "" if verdict.duration_ms is None else f"{verdict.duration_ms / 1000:.1f}s"
    hook = padded(shown_hook(verdict.hook or "-"), 24)
    message = untrusted(said_by(verdict.status, verdict.message), COLUMNS)
    line = f"  {paint(mark, style, stream)} {verdict.point:13} {hook} {took:>6}  {message}"
    return line.rstrip()


def shown_hook(hook: str) -> str:
    """A hook as people read its name."""
    return one_line(short_name(hook))


def left_out(effects: list[JournalEffect], blobs: Blobs) -> tuple[list[str], int]:
    """The files of your own checkout that are not committed, so not submitted: some, how many."""
    for effect in reversed(effects):
        if effect.kind == "repo" and effect.args["verb"] == "prepare":
            value = inside(effect.value, blobs)
            if isinstance(value, dict):
                return list(value.get("uncommitted", ())), value.get("uncommittedCount", 0)
    return [], 0


def said_by(status: str, message: str) -> str:
    """What a gate said; one that waits without a word says at least that."""
    return message or (UNTOLD if status == "pending" else "")


def clock(moment: float) -> str:
    """A moment of today as the clock on the wall shows it."""
    return time.strftime("%H:%M:%S", time.localtime(moment))


def output_lines(output: str) -> list[str]:
    """What a gate printed, its end where it is long: there programs say what went wrong."""
    lines = output.strip("\n").splitlines()
    left = len(lines) - LINES
    cut = [f"    {paint('│', 'dim')} … {left} lines before these"] if left > 0 else []
    return [
        *cut,
        *(f"    {paint('│', 'dim')} {printable(each, COLUMNS)}" for each in lines[-LINES:]),
    ]


def review_lines(found: Judgement) -> list[str]:
    """What a reviewer asks for, and what the author said to it."""
    answer = [f"the author said: {found.answer}"] if found.answer else []
    return [*found.comments, *answer]


def note_remediation(prompt: str | None) -> None:
    """What a gate wants to be fixed, for the person."""
    lines = (prompt or "").strip().splitlines()
    for line in lines[:LINES]:
        note(f"    {paint('│', 'dim', sys.stderr)} {printable(line, COLUMNS)}")
    if len(lines) > LINES:
        note(f"    {paint('│', 'dim', sys.stderr)} … {len(lines) - LINES} more lines")
