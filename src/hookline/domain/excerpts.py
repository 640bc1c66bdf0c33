"""The end of a long text: programs say last what went wrong."""

from __future__ import annotations

MAX_LINES = 20
MAX_BYTES = 2000
CUT = "…"
MAX_LINE = 300
MAX_FIRST_LINE = 400


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
