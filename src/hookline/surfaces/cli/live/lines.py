"""How each record of a session reads as lines: used by the live view for what is finished."""

from __future__ import annotations

from time import localtime, strftime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.hooks.answers import RECEIPT
from hookline.domain.hooks.names import shown_hook
from hookline.domain.text import terminal
from hookline.domain.text.excerpts import excerpt
from hookline.domain.text.terminal import clean, cut, head, one_line, padded, plural, took, width
from hookline.surfaces.cli.output import paint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from hookline.surfaces.cli.live.records import HookEnded, Result, TurnEnded, TurnUsage

POINT_COLUMNS, NAME_COLUMNS, TIME_COLUMNS = 14, 14, 6
ROOM = POINT_COLUMNS + NAME_COLUMNS + TIME_COLUMNS + 2
BELOW = "      │ "
TO_AGENT = "→ agent"
SHOWN_OUTPUT = 200
OK, BAD, MIXED, OPEN = ("✓", "green"), ("✗", "red"), ("!", "yellow"), ("●", "yellow")
SKIPPED = ("–", "dim")  # noqa: RUF001  # the mark of what was skipped
_DECIDED = {"complete": MIXED, "continue": ("·", "dim"), "escalate": MIXED}


def decision_mark(action: str, *, is_proven: bool) -> tuple[str, str]:
    """How a stop hook's decision is marked: only what is done, and proven, has a check mark."""
    return OK if action == "complete" and is_proven else _DECIDED.get(action, OK)


class Piece(NamedTuple):
    """Text of one style."""

    text: str
    style: str = ""


class ViewLine(NamedTuple):
    """A line of the view; one that wraps loses nothing to a narrow terminal.

    With `hangs`, so many pieces come before its text, and nothing on its other rows.
    """

    pieces: tuple[Piece, ...]
    wraps: bool = False
    hangs: int = 0

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(piece.text for piece in self.pieces)


class ShownStep(NamedTuple):
    """Where a session is: a point and who has its turn there."""

    point: str
    name: str


def plain(text: str, style: str = "", *, wraps: bool = False) -> ViewLine:
    """A line of one style."""
    return ViewLine((Piece(text, style),), wraps)


def painted(pieces: Sequence[Piece], stream: TextIO) -> str:
    """Pieces as a text with their styles, if the stream shows them."""
    return "".join(paint(p.text, p.style, stream) if p.style and p.text else p.text for p in pieces)


def below(text: str, style: str = "dim") -> ViewLine:
    """A line that belongs to the step above it; nothing in it is obeyed by a terminal."""
    return ViewLine((Piece(BELOW, "dim"), Piece(clean(text), style)), wraps=True)


def step_line(
    mark: tuple[str, str], step: ShownStep, duration: float | None, details: Sequence[str] = ()
) -> ViewLine:
    """A step in columns: mark, point, name, how long, and what came of it."""
    time = took(duration) if duration is not None else ""
    where = f" {padded(one_line(step.point), POINT_COLUMNS)} {shown_hook(step.name)}"
    # A long point takes of what its hook's name leaves, so that the rest stays in its columns.
    room = max(ROOM - width(where), width(time) + 1)
    told = "  " + " · ".join(details).replace(f" · {TO_AGENT}", f" {TO_AGENT}") if details else ""
    duration_column = Piece(f"{time:>{room}}" if time or told else "")
    details_column = Piece(told, "dim" if mark in (SKIPPED, OK) else "")
    pieces = (Piece("  "), Piece(*mark), Piece(where), duration_column, details_column)
    return ViewLine(pieces, wraps=True, hangs=4)


# Hooks


def hook_lines(ended: HookEnded, verbose: int, *, is_checked: bool = False) -> Iterator[ViewLine]:
    """A call of a hook that is over; `is_checked` is whether the work has passed its checks."""
    step = ShownStep(ended.point, ended.hook)
    duration = ended.duration_ms / 1000
    if ended.status == "skipped":
        is_false = f"when {one_line(ended.condition)} is false" if ended.condition else "held back"
        yield step_line(SKIPPED, step, None, [is_false])
        if verbose and ended.values:
            yield below(msgspec.json.encode(ended.values).decode())
        return
    if ended.status == "cut":
        yield step_line(MIXED, step, None, ["interrupted"])
        return
    if ended.status != "ok":
        yield step_line(BAD, step, duration, [ended.status])
        yield from _end_of(ended.error or "")
        return
    answer = ended.answer if isinstance(ended.answer, dict) else {}
    is_proof = ended.exit_code == 0 or _has_receipt(answer)
    mark = decision_mark(str(answer.get("action")), is_proven=is_checked or is_proof)
    mark = MIXED if ended.exit_code else mark
    yield step_line(mark, step, duration, _what_it_said(ended, verbose))
    if verbose > 1:
        yield from _shown(_text_of(ended).splitlines(), SHOWN_OUTPUT)
    elif ended.exit_code and ended.stderr:
        yield below(ended.stderr)


def _has_receipt(answer: dict[str, Any]) -> bool:
    kept = answer.get("metadata")
    return isinstance(kept, dict) and RECEIPT in kept


def _what_it_said(ended: HookEnded, verbose: int) -> list[str]:
    details = []
    answer = ended.answer if isinstance(ended.answer, dict) else {}
    if isinstance(answer.get("action"), str):
        reason = f": {one_line(str(answer['reason']))}" if answer.get("reason") else ""
        details.append(f"{one_line(answer['action'])}{reason}")
    if ended.exit_code or (verbose and ended.exit_code is not None):
        details.append(f"exit {ended.exit_code}")
    if ended.piped and (text := _text_of(ended)):
        details.append(f"{TO_AGENT} {terminal.size(len(text.encode('utf-8', 'replace')))}")
    return details


def _text_of(ended: HookEnded) -> str:
    text = ended.answer.get("text") if isinstance(ended.answer, dict) else None
    return text if isinstance(text, str) else ""


def _end_of(text: str) -> Iterator[ViewLine]:
    yield from (below(line) for line in excerpt(text).splitlines())


def _shown(lines: Sequence[str], most: int) -> Iterator[ViewLine]:
    yield from (below(line) for line in lines[:most] if line.strip())
    if len(lines) > most:
        yield below(f"… {plural(len(lines) - most, 'more line')}")


# Turns and validation


def turn_lines(ended: TurnEnded, duration: float, verbose: int) -> Iterator[ViewLine]:
    """A turn that is over."""
    step = ShownStep("agent", ended.step)
    if ended.wait is not None:
        yield step_line(MIXED, step, duration, [ended.wait.reason])
        yield from _end_of(ended.error or "")
        return
    if ended.error is not None:
        yield step_line(BAD, step, duration, ["failed"])
        yield from _end_of(ended.error)
        return
    yield step_line(OK, step, duration, _what_it_took(ended, verbose))
    if verbose:
        yield from _shown(ended.files or (), SHOWN_OUTPUT)


def _what_it_took(ended: TurnEnded, verbose: int) -> list[str]:
    usage, details = ended.usage, []
    if ended.tools:
        details.append(plural(ended.tools, "tool"))
    if ended.files:
        details.append(plural(len(ended.files), "file"))
    if usage.usd:
        details.append(f"{money(usage.usd)}{' computed' * usage.computed}")
    if verbose and tokens_of(usage):
        told, said = terminal.thousands(usage.input_tokens), terminal.thousands(usage.output_tokens)
        details.append(f"{told} tokens in, {said} out")
    return details


def clock(moment: float) -> str:
    """A moment of today in local time."""
    return strftime("%H:%M:%S", localtime(moment))


def tokens_of(usage: TurnUsage) -> int:
    """All tokens of a turn."""
    return max(usage.input_tokens, 0) + max(usage.output_tokens, 0)


def money(usd: float) -> str:
    """An amount as people write it."""
    return f"${usd:.2f}"


def validation_lines(results: Sequence[Result], duration: float) -> Iterator[ViewLine]:
    """The rules that failed, one by one, and how many passed."""
    for result in results:
        if not result.passed:
            first, *more = (result.message or "").splitlines() or [""]
            details = [one_line(first)] if first else []
            step = ShownStep("validation", result.rule_name)
            yield step_line(BAD, step, result.duration_ms / 1000, details)
            yield from (below(line) for line in more)
    passed = sum(result.passed for result in results)
    if passed:
        yield step_line(OK, ShownStep("validation", plural(passed, "rule")), duration)


# Columns


def fitted(line: ViewLine, columns: int) -> list[ViewLine]:
    """A line in so many columns: cut, or broken into several."""
    if width(line.text) <= columns:
        return [line]
    if not line.wraps or columns <= 2 * len(BELOW):
        return [_cut(line, columns)]
    if line.hangs:
        return _hanging(line.pieces[: line.hangs], line.pieces[line.hangs :], columns)
    first, *rest = line.pieces
    if not rest:  # not below anything: it begins where it begins
        return [plain(part, first.style) for part in _broken(first.text, columns)]
    said = "".join(piece.text for piece in rest)
    parts = _broken(said, columns - width(first.text))
    return [ViewLine((first, Piece(part, rest[0].style))) for part in parts]


def _hanging(lead: Sequence[Piece], text: Sequence[Piece], columns: int) -> list[ViewLine]:
    whole, used = "".join(piece.text for piece in text), sum(width(p.text) for p in lead)
    gap = len(whole) - len(whole.lstrip(" "))
    first = next(iter(_broken(whole, max(columns - used, 1))))
    # A narrow terminal gets its other rows further to the left, where there is more room.
    indent = min(used + gap, max(columns - ROOM, len(BELOW)))
    rest = whole[len(first) :].lstrip(" ")
    style, blank = text[0].style, Piece(" " * indent)
    below = [ViewLine((blank, Piece(part, style))) for part in _broken(rest, columns - indent)]
    return [ViewLine((*lead, Piece(first, style))), *(below if rest else ())]


def _cut(line: ViewLine, columns: int) -> ViewLine:
    pieces, left = [], columns
    for piece in line.pieces:
        if width(piece.text) > left:
            pieces.append(Piece(cut(piece.text, left), piece.style))
            break
        pieces.append(piece)
        left -= width(piece.text)
    return ViewLine(tuple(pieces))


def _broken(text: str, columns: int) -> Iterator[str]:
    while width(text) > columns:
        part = head(text, columns)
        if not part:  # a character wider than the room there is
            break
        words = part.rpartition(" ")[0]
        part = words if width(words) > columns // 2 else part
        yield part
        text = text[len(part) :].lstrip(" ")
    yield cut(text, columns)
