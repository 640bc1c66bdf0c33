"""Short forms of long texts and lists; of output the end, where programs say what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LINES = 20
MAX_BYTES = 2000
CUT = "…"
# What programs draw between the parts of what they say. Plain strings, here and below: `re`
# compiles and keeps them at first use, and most commands never get here.
_RULER = r"([=\-_*~#+])\1{3,}"
MAX_LINE = 300
MAX_FIRST_LINE = 400
# What was raised says more than which test failed, and both more than how many did.
_ERRORS = (
    r"\s*(?:E +)?[\w.]*(?:Error|Exception)\b[^:]{0,40}: \S|\s*(?:error|fatal)\b[^:]{0,20}: ",
    r"(?:FAILED|ERROR|--- FAIL:?|not ok) |.*(?:: not found|No such file or directory)$",
)


def excerpt(text: str) -> str:
    """The last lines of a text; a first line `…` says that there was more before them."""
    whole = text.strip()
    lines = whole.split("\n")
    if len(lines) <= MAX_LINES and len(whole.encode("utf-8", "replace")) <= MAX_BYTES:
        return whole
    kept = "\n".join(lines[1 - MAX_LINES :]).encode("utf-8", "replace")
    room = MAX_BYTES - len(f"{CUT}\n".encode())
    return f"{CUT}\n{kept[-room:].decode('utf-8', 'ignore').lstrip()}"


def headed_excerpt(text: str) -> str:
    """The first line, which says how something ended, and an excerpt of the rest."""
    first, _, rest = text.strip().partition("\n")
    if len(first) > MAX_FIRST_LINE:
        first = f"{first[: MAX_FIRST_LINE - 1]}{CUT}"
    return f"{first}\n{excerpt(rest)}".rstrip()


def last_line(text: str) -> str:
    """The last line of a text that says something."""
    return text.rstrip().rpartition("\n")[2].strip()[:MAX_LINE]


def error_line(*texts: str) -> str:
    """The last line that names an error, in the first of these texts with one; empty if none has.

    Some programs end with other words, such as their own version.
    """
    lines = [[line[:MAX_LINE] for line in text.split("\n")] for text in texts]
    for names_error in _ERRORS:
        for each in lines:
            found = next((line for line in reversed(each) if re.match(names_error, line)), None)
            if found is not None:
                return found.strip().removeprefix("E  ").strip()  # pytest marks such lines
    return ""


def first_few(names: Sequence[str], most: int, mark: str = ", ") -> str:
    """The first of these names, and how many more there are."""
    left = len(names) - most
    return mark.join(names[:most]) + (f" and {left} more" if left > 0 else "")


def both_ends(text: str, limit: int) -> str:
    """The text on one line, without rulers; of one that is too long, the middle is left out."""
    line = " ".join(word for word in text.split() if not re.fullmatch(_RULER, word))
    if len(line) <= limit:
        return line
    head = limit // 3
    first, last = line[:head], line[head + 3 - limit :]
    # A word longer than all the room is cut.
    first, last = first.rpartition(" ")[0] or first, last.partition(" ")[2] or last
    return f"{first} {CUT} {last}"
