"""Asking a person, and showing what it is about."""

from __future__ import annotations

import sys

from hookline.surfaces.cli.output import paint, say

_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def agrees(question: str, otherwise: str = "n") -> bool:
    """Whether a person says yes; `otherwise` is what an empty line says."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    said = sys.stdin.readline()
    return bool(said) and (said.strip().lower() or otherwise) in ("y", "yes")


def say_diff(text: str) -> None:
    """Show what changed."""
    for line in text.removesuffix("\n").split("\n"):
        style = _MARKS.get(line[:1])
        say(paint(shown(line), style) if style else shown(line))


def shown(line: str) -> str:
    """A line of the repository's text with its indentation, but without power over the terminal."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in line)
