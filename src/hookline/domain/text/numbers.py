"""Numbers in text from outside."""

from __future__ import annotations


def is_number(text: str) -> bool:
    """Whether a text is ASCII digits alone, few enough for any store; `²` is a digit to Python."""
    return text.isascii() and text.isdigit() and len(text) <= 15
