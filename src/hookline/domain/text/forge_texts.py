"""Texts on their way to and from a forge: bounded, and of characters that can be sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.domain.work.forge import Remark

MAX_TITLE = 256
MAX_TEXT = 65_536  # GitHub's own bound, in characters
_CUT = "\n\n(cut here: the text was too long)"
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def title(text: str) -> str:
    """A title: one line, never empty."""
    return " ".join(_sendable(text).split())[:MAX_TITLE] or "(no title)"


def body(text: str, limit: int = MAX_TEXT) -> str:
    """A text of many lines; a cut is marked."""
    text = _sendable(text)
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


def with_remarks(text: str, remarks: Iterable[Remark]) -> str:
    """A text, and below it what is said about lines and files."""
    return "\n\n".join([text, *(each.shown for each in remarks)])


def shown(text: str, limit: int = 500) -> str:
    """Something that a server said, fit for one line of a message."""
    return " ".join(_UNSEEN.sub(" ", _sendable(text)).split())[:limit]


def _sendable(text: str) -> str:
    # Bytes that were no UTF-8 travel as lone surrogates, which no JSON can hold.
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
