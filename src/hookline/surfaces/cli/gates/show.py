"""How verdicts look on a terminal. Used by every command about gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import shown_hook
from hookline.domain.text.terminal import one_line, padded, took
from hookline.hooks.gates.verdicts import said_by
from hookline.surfaces.cli.live.lines import BAD, OK, OPEN, SKIPPED, Piece, painted
from hookline.surfaces.cli.output import note, paint, printable

if TYPE_CHECKING:
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.pipeline.gate_reviews import GateReview
    from hookline.worker.records import GateSpoke

MARKS = {"success": OK, "failure": BAD, "skip": SKIPPED, "pending": OPEN}
# So much of a remediation is shown; `--json` has it whole.
LINES, COLUMNS = 40, 200
POINT_COLUMNS, HOOK_COLUMNS = 13, 14
# So much of a comment or an answer is shown.
MAX_SAID = 2000


def verdict_pieces(
    verdict: GateVerdict | GateSpoke, since: float | None = None
) -> tuple[Piece, Piece]:
    """A verdict as its mark and its columns; `since` is how long a gate is being asked."""
    said = one_line(said_by(verdict.status, verdict.message)) if since is None else ""
    if verdict.duration_ms is not None:
        since = verdict.duration_ms / 1000
    point = padded(one_line(verdict.point), POINT_COLUMNS)
    hook = padded(shown_hook(verdict.hook or "-"), HOOK_COLUMNS)
    spent = took(since) if since is not None else ""
    mark = Piece(*MARKS.get(verdict.status, ("?", "red")))
    return mark, Piece(f" {point} {hook} {spent:>5}  {said}".rstrip())


def verdict_line(verdict: GateVerdict) -> str:
    """A verdict on one line of stdout."""
    return f"  {painted(verdict_pieces(verdict), sys.stdout)}"


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
