"""Text and JSON that a terminal cannot obey: everything that is printed passes here."""

from __future__ import annotations

from typing import Any

import msgspec


def visible(text: str) -> str:
    """Text whose control characters and marks of direction are spelled out; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" else spelled(c) for c in text)


def spelled(character: str) -> str:
    r"""A character that can be printed, or its number as in `\x1b`."""
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def untrusted(text: str, width: int = 0) -> str:
    """Text from a repository or an agent as one line, safe to print and cut to `width`."""
    return printable(" ".join(text.split()), width)


def printable(line: str, width: int = 0) -> str:
    """A line as it is, blanks included, safe to print and cut to `width`."""
    safe = "".join(map(spelled, line.expandtabs(4)))
    return shortened(safe, width) if width else safe


def shortened(text: str, limit: int) -> str:
    """A text, cut where it is too long; the cut is marked."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def line_of(text: str, limit: int = 600) -> str:
    """A text on one line, cut where it is too long."""
    return shortened(" ".join(text.split()), limit)


def json_line(value: Any) -> str:
    """A value as JSON in one line; what cannot be printed is escaped, and the value is the same."""
    text = msgspec.json.encode(value).decode()
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable() or character in "\n\r\t":  # blanks between the values of raw JSON
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
