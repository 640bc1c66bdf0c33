"""Text for a terminal's columns: foreign text made harmless, widths, sizes, lengths of time."""

from __future__ import annotations

import re
from unicodedata import category, east_asian_width

from hookline.domain.text.display import printable

# Colours and other commands to a terminal, whole and cut off; then marks that take no column.
# Plain strings: `re` compiles and keeps them at first use, and most commands never get here.
_COMMANDS = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_MARKS = "[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
MAX_CLEANED = 4000
LONGEST = 1e9


def clean(text: str) -> str:
    """A line of foreign text without anything that a terminal would obey; long ones are cut."""
    return printable(re.sub(_MARKS, "", re.sub(_COMMANDS, "", text[:MAX_CLEANED])))


def one_line(text: str) -> str:
    """Foreign text as one harmless line."""
    return " ".join(clean(" ".join(text[:MAX_CLEANED].split())).split())


def width(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in ("Mn", "Me", "Cf") else 1


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns; what is left out is marked."""
    if width(text) <= columns:
        return text
    return head(text, columns - 1) + "…" if columns > 0 else ""


def head(text: str, columns: int) -> str:
    """As much of the beginning of a text as fits into these columns."""
    used = 0
    for place, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[:place]
    return text


def padded(text: str, columns: int) -> str:
    """The text, filled up with blanks."""
    return text + " " * (columns - width(text))


def took(seconds: float) -> str:
    """A length of time in a few characters: 0.2s, 74s, 2m05s, 3h20m."""
    seconds = min(seconds, LONGEST) if seconds > 0 else 0.0
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 99.5:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"


def size(count: int) -> str:
    """A number of bytes in a few characters: 740 B, 1.1 KB."""
    if count < 1000:
        return f"{count} B"
    amount, unit = count / 1024, "KB"
    if amount >= 1000:
        amount, unit = amount / 1024, "MB"
    return f"{amount:.1f} {unit}"


def thousands(count: int) -> str:
    """A number of tokens in a few characters: 740, 12.3k, 1.2M."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
