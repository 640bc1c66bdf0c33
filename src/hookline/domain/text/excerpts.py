"""Short forms of long texts and lists; of output its end, and what failed before that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

MAX_LINES = 20
ROOM = MAX_LINES - 2  # besides two marks that lines were left out
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
# The names of tests that failed, and what was wrong, as test runners and compilers print them.
_NAME = (
    r"\s*(?:not ok \d|[✖✗✕×] (?!failing tests:)|● |--- FAIL: |FAIL(?:ED|:)? |ERROR:? |_{3,} \S|"  # noqa: RUF001
    r"test .* FAILED$)"
)
_WRONG = (
    r"\s*(?:E  +\S|expect\(|assertion |thread '.*' .*panicked at |\S+\.go:\d+: |"
    r"(?:[\w.]*(?:Error|Exception)\b[^:]{0,40}|error|fatal|panic)(?:\[\w+\])?: ?\S|"
    r"(?:Expected|Received|left|right): )"
)
# Such a line says nothing without those below it, up to where it was raised.
_OPENS = (":", "|-")
_TRACE = r"\s*(?:at |code: |stack backtrace:|note: )"
MOST_NAMES, MOST_WRONG, FAILED_BYTES, FAILED_LINE = 4, 6, 1000, 160


# The line that takes the place of what was left out of the middle of a text.
LEFT_OUT = r"… \d+ bytes left out …"


def left_out(count: int) -> str:
    """The line that says how much of a text is missing in its middle."""
    return f"… {count} bytes left out …"


def without_middle(text: str, limit: int, head: int | None = None, *, more: int = 0) -> str:
    """A text within so many bytes, `head` of them from its beginning, or half.

    What is missing is marked; `more` is what its middle had lost before.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= limit and not more:
        return data.decode()
    begin = limit // 2 if head is None else head
    ends = data[:begin], data[max(len(data) + begin - limit, begin) :]
    first, last = (each.decode("utf-8", "ignore") for each in ends)
    return f"{first}\n{left_out(max(len(data) - limit, 0) + more)}\n{last}"


def excerpt(text: str) -> str:
    """The last lines of a text, and what failed before them; `…` stands for what is left out."""
    whole = text.strip()
    lines = whole.split("\n")
    if len(lines) <= MAX_LINES and len(whole.encode("utf-8", "replace")) <= MAX_BYTES:
        return whole
    places = _failures(lines[: MOST_NAMES + MOST_WRONG - ROOM])
    end = len(lines) + len(places) - ROOM
    failed = _within([lines[place] for place in places if place < end], FAILED_BYTES)
    head = "".join(f"{line}\n" for line in (CUT, *failed, CUT) if failed) or f"{CUT}\n"
    kept = "\n".join(lines[end if failed else 1 - MAX_LINES :]).encode("utf-8", "replace")
    room = MAX_BYTES - len(head.encode("utf-8", "replace"))
    return f"{head}{kept[-room:].decode('utf-8', 'ignore').lstrip()}"


def _failures(lines: Sequence[str]) -> list[int]:
    """Where the first lines are that name what failed, and those that say what was wrong."""
    names: dict[str, int] = {}
    wrong: list[int] = []
    for place, line in enumerate(line[:MAX_LINE].rstrip() for line in lines):
        if len(names) < MOST_NAMES and re.match(_NAME, line):
            names.setdefault(line, place)
        elif len(wrong) < MOST_WRONG and re.match(_WRONG, line):
            wrong += [place, *(_below(lines, place) if line.endswith(_OPENS) else ())]
    return sorted({*names.values(), *wrong[:MOST_WRONG]})


def _below(lines: Sequence[str], place: int) -> list[int]:
    """Where the lines are that say what the line above them only announces."""
    near = range(place + 1, min(place + MOST_WRONG + 3, len(lines)))
    said = takewhile(lambda each: not re.match(_TRACE, lines[each][:MAX_LINE]), near)
    return [each for each in said if lines[each].strip()]


def _within(lines: Sequence[str], room: int) -> list[str]:
    """The first of these lines, none of them long, that have room together."""
    found = []
    for line in (each[:FAILED_LINE].rstrip() for each in lines):
        room -= len(line.encode("utf-8", "replace")) + 1
        found += [line] if room >= 0 else []
    return found


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


def first_few(names: Sequence[str], most: int, mark: str = ", ", of: int = 0) -> str:
    """The first of these names, and how many more there are; `of` counts those not here, too."""
    left = (of or len(names)) - min(most, len(names))
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
