"""How commands speak: data on stdout, everything else on stderr, colour only on a terminal."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookline.domain.text.display import json_line, visible
from hookline.domain.text.display import printable as printable
from hookline.domain.text.display import untrusted as untrusted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO, TypeVar

    T = TypeVar("T")

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")
_STYLES = {"bold": 1, "dim": 2, **{name: code for code, name in enumerate(_COLOURS, 31)}}
# What `paint` marks a style with until it is printed. It is another one in each process, so that
# nobody else's text can hold it: of all codes in a line, only ours reach the terminal.
_MARK = f"\x1b{os.urandom(8).hex()}"
_THEN = " && hookline "


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream."""
    return stream.isatty()


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a style ("bold", "red", ...), if the stream shows colour."""
    target = stream or sys.stdout
    if os.environ.get("NO_COLOR") or not is_terminal(target):
        return text
    return f"{_MARK}[{_STYLES[style]}m{text}{_MARK}[0m"


def say(text: str = "") -> None:
    """A line of data, made safe for a terminal."""
    print(shown(text))


def say_row(text: str, hang: int) -> None:
    """A line of a list; on a terminal a long one continues below, indented, and breaks at words."""
    if is_terminal(sys.stdout):
        text = wrapped(text, columns(), hang)
    for line in text.split("\n"):
        say(line)


def say_command(lead: str, command: str, style: str = "") -> None:
    """A command to type, behind its lead; on a terminal a long one is broken where a shell allows.

    So it can be copied as it is: a shell reads on after `&&`.
    """
    parts, hang = [command], _seen(lead)
    if is_terminal(sys.stdout) and hang + _seen(command) > columns():
        parts = command.replace(_THEN, _THEN.replace("&& ", "&&\n")).split("\n")
    for number, part in enumerate(parts):
        shown = untrusted(part)
        say(f"{' ' * hang if number else lead}{paint(shown, style) if style else shown}")


def columns() -> int:
    """How wide the terminal is."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal, or no file at all
        return 80


def wrapped(text: str, width: int, hang: int) -> str:
    """A line, broken at blanks where it is too long; a longer word is left whole."""
    lines, line, used, gap = [], "", 0, ""
    hang = min(hang, width // 2)
    for number, word in enumerate(text.split(" ")):
        gap += " " if number else ""
        long = _seen(word)
        too_long = used + len(gap) + long > width and long <= width - hang
        if long and line.strip() and too_long:
            lines.append(line)
            line, used, gap = " " * hang, hang, ""
        if long:
            line, used, gap = f"{line}{gap}{word}", used + len(gap) + long, ""
        else:  # one of several blanks, or a style
            line += word
    return "\n".join([*lines, line])


def _seen(word: str) -> int:
    """How many columns a word takes, without the styles that `paint` put there."""
    from hookline.domain.text.terminal import width  # only on a terminal

    first, *painted = word.split(_MARK)
    return width(first + "".join(part.partition("m")[2] for part in painted))


def say_json(value: Any) -> None:
    """Exactly one JSON value on stdout."""
    say_bytes(json_line(value).encode() + b"\n")


def say_bytes(data: bytes) -> None:
    """Data for stdout that is already encoded."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def was_heard() -> bool:
    """Whether what was said got to stdout; not if it was closed from the start."""
    sys.stdout.flush()
    return sys.__stdout__ is not None


def answer(args: Namespace, value: Any, *lines: str) -> bool:
    """What a command found: for programs as JSON, for people as lines; whether people read it."""
    if args.json:
        say_json(value)
    else:
        for line in lines:
            say(line)
    return not args.json


def answer_rows(
    args: Namespace,
    found: Sequence[T],
    line: Callable[[T], str],
    empty: str,
    *,
    hang: int | None = None,
) -> bool:
    """A list that a command found, or the words for an empty one; whether people read it."""
    if args.json:
        return answer(args, found)
    for each in found:
        say(line(each)) if hang is None else say_row(line(each), hang)
    if not found:
        say(empty)
    return True


def warn(text: str, help: str = "") -> None:
    """Something that the person should know, and what to do about it."""
    note(f"{paint('warning', 'yellow', sys.stderr)}: {text}")
    if help:
        note(f"  = help: {help}")


def note(text: str) -> None:
    """A line for the person, on stderr, after what was said before it."""
    with suppress(OSError):  # what could not be said is told at the end
        sys.stdout.flush()
    with spoken(sys.stderr):
        print(shown(text), file=sys.stderr)


def write_all(file: int, data: bytes) -> None:
    """Write everything, however long its reader takes; OSError when there is none any more."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(file, left) :]
        except BlockingIOError:  # another program made our terminal or pipe so
            import select  # hardly ever needed

            select.select([], [file], [])


def stdout_file() -> int:
    """Where data goes; what Python still holds for it goes first."""
    sys.stdout.flush()
    return sys.stdout.fileno()


@contextmanager
def spoken(*streams: TextIO) -> Iterator[None]:
    """If nobody is left to be told something, as on a closed terminal, it is done anyway."""
    try:
        yield
        for stream in streams:
            stream.flush()
    except OSError:  # what Python still holds for them has nowhere to go
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in streams:
            os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def report(text: str) -> None:
    """A line about what a command did; under a hook, whose stdout is its answer, on stderr."""
    (note if os.environ.get("HOOKLINE_HOOK") else say)(text)


def next_step(command: str, why: str = "") -> None:
    """The next useful command; said to people only, not to pipes."""
    if is_terminal(sys.stdout) and is_terminal(sys.stderr):
        told, because = f"next: {command}", f"  ({why})" if why else ""
        fits = _seen(told) + _seen(because) <= columns()
        for line in (f"{told}{because}",) if fits else (told, f"    {because}"):
            if line.strip():
                note(paint(line, "dim", sys.stderr))


def tell_next(command: str) -> None:
    """The next command where nothing happens without it; said to pipes as well."""
    note(paint(f"next: {command}", "dim", sys.stderr))


def shown(text: str) -> str:
    """A line as it is printed: text made visible, between the styles that `paint` put there."""
    first, *painted = text.split(_MARK)
    parts = (part.partition("m") for part in painted)
    return visible(first) + "".join(f"\x1b{style}m{visible(rest)}" for style, _, rest in parts)
