"""Reads the words of a shell line: quotes and expansions, and the place of each marked span.

It reads POSIX shell and, because /bin/sh is bash on some systems, bash's extensions. After a
construction that shells read differently every mark is refused, for its quoting is not certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from hookline.errors import BadInput

BARE, DOUBLE, SINGLE, ANSI, COMMENT = "bare", "double", "single", "ansi", "comment"

# Replaces in a word's text what is known only when the line runs.
DYNAMIC = "\0"
# The same while a word is read, for a marked span.
_MARK = "\1"

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_OPERATOR = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*|\d+|[@*#?$!-])(?::?[-=?+]|##?|%%?|[/:^,])")
_ANSI_STRING = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKTICKS = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_SPLIT_OPERATOR = re.compile(r"\$\\\n|[<>&|(;](?:\\\n)+[<>&|(;]")


class ShellError(BadInput):
    """The line is not complete shell."""

    code = "bad-shell"

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message, help="`sh -n` checks a line without running it")
        self.offset = offset


class MarkSite(NamedTuple):
    """The place of a mark: its quoting, and why free text is not allowed there.

    `fatal` places are unfit for any variable.
    """

    quote: str
    reason: str
    fatal: bool


class Word(NamedTuple):
    """A word: its text without quotes, DYNAMIC for each expansion, and the text as written.

    `leading` is how many marks it may begin with: nothing else but expansions is before them.
    """

    start: int
    end: int
    text: str
    raw: str
    leading: int

    @property
    def assigns(self) -> str | None:
        """The variable that this word assigns to where assignments are possible."""
        match = _ASSIGNMENT.match(self.raw)
        return match[1] if match else None

    @property
    def quoted(self) -> bool:
        """Whether any part of it is quoted."""
        return any(sign in self.raw for sign in "'\"\\")


class WordReader:
    """A position in a line, and the steps that read one word. The grammar adds the rest."""

    def __init__(self, line: str, marks: Mapping[int, int]) -> None:
        self.line, self.marks = line, marks
        self.pos, self.end = 0, len(line)
        self.sites: dict[int, MarkSite] = {}
        self.opaque = False
        self.doubt = "an operator split over lines" if _SPLIT_OPERATOR.search(line) else ""
        self._bare = BARE
        self._places: list[tuple[str, bool]] = []

    def commands(self, *closers: str) -> str:
        """Read commands up to one of the closers, which is passed over and returned."""
        raise NotImplementedError

    def at(self, text: str) -> bool:
        """Whether this text comes next."""
        return self.line.startswith(text, self.pos, self.end)

    def peek(self) -> str:
        """The next character, or nothing at the end."""
        return self.line[self.pos] if self.pos < self.end else ""

    def unexpected(self) -> ShellError:
        """The error for a character that is not allowed here."""
        if not self.peek():
            return ShellError("the command ends too early", max(0, self.end - 1))
        return ShellError(f"{self.peek()!r} is not expected here", self.pos)

    @contextmanager
    def inside(self, reason: str, *, fatal: bool = False) -> Iterator[None]:
        """Marks that are read within are in this kind of place."""
        outer = bool(self._places) and self._places[-1][1]
        self._places.append((reason, fatal or outer))
        yield
        self._places.pop()

    def mark(self, quote: str) -> str:
        """Place the mark that begins here and pass over it."""
        reason, fatal = self._places[-1] if self._places else ("", False)
        if self.doubt:
            reason, fatal = f"a line with {self.doubt}", True
        self.sites[self.pos] = MarkSite(quote, reason, fatal)
        self.pos = self.marks[self.pos]
        return _MARK

    def plain_until(self, end: int, quote: str) -> str:
        """Pass over text in which nothing is special, and place the marks in it."""
        text = ""
        for start in sorted(start for start in self.marks if self.pos <= start < end):
            text += self.line[self.pos : start]
            self.pos = start
            text += self.mark(quote)
        text += self.line[self.pos : end]
        self.pos = end
        return text

    def word(self) -> Word:
        """Read one word, which must begin here."""
        start, text = self.pos, ""
        while self.pos < self.end:
            sign = self.line[self.pos]
            if self.pos in self.marks:
                text += self.mark(self._bare)
            elif sign in "<>" and self.line.startswith("(", self.pos + 1, self.end):
                self.pos += 1
                text += self._substitution()
            elif sign == "(" and _ASSIGNMENT.fullmatch(self.line, start, self.pos):
                text += self._array()
            elif sign in " \t\n;&|<>()":
                break
            else:
                text += self._piece(sign)
        if self.pos == start:
            raise self.unexpected()
        plain = text.lstrip(_MARK + DYNAMIC)
        leading = text[: len(text) - len(plain)].count(_MARK)
        text = text.replace(_MARK, DYNAMIC)
        return Word(start, self.pos, text, self.line[start : self.pos], leading)

    def _piece(self, sign: str) -> str:
        if sign == "\\":
            return self._escaped("")
        if sign == "'":
            return self._single()
        if sign == '"':
            return self._double()
        if sign == "$":
            return self._dollar(quoted=False)
        if sign == "`":
            return self._backticks(quoted=False)
        self.pos += 1
        return sign

    def _escaped(self, otherwise: str) -> str:
        """A backslash and its character; in double quotes most backslashes stand for themselves."""
        char = self.line[self.pos + 1 : min(self.pos + 2, self.end)]
        self.pos = min(self.pos + 2, self.end)
        if char == "\n":
            return ""
        return char if char in '$`"\\' else otherwise + char

    def _single(self) -> str:
        start = self.pos
        stop = self.line.find("'", start + 1, self.end)
        if stop < 0:
            raise ShellError("this quote is not closed", start)
        self.pos += 1
        text = self.plain_until(stop, SINGLE)
        self.pos += 1
        return text

    def _double(self) -> str:
        start = self.pos
        self.pos += 1
        text = self.expanding('"')
        if self.pos >= self.end:
            raise ShellError("this quote is not closed", start)
        self.pos += 1
        return text

    def expanding(self, stop: str) -> str:
        """Read text in which only expansions are special, up to the stop sign or the end."""
        text = ""
        while self.pos < self.end and self.line[self.pos] != stop:
            sign = self.line[self.pos]
            if self.pos in self.marks:
                text += self.mark(DOUBLE)
            elif sign == "\\":
                text += self._escaped("\\")
            elif sign == "$":
                text += self._dollar(quoted=True)
            elif sign == "`":
                text += self._backticks(quoted=True)
            else:
                text += sign
                self.pos += 1
        return text

    def _dollar(self, *, quoted: bool) -> str:
        self.pos += 1
        if self.pos in self.marks and self.at("{"):
            with self.inside("a name directly after '$'", fatal=True):
                return self.mark(DOUBLE)
        if self.at("(("):
            return self.arithmetic()
        if self.at("("):
            return self._substitution()
        if self.at("{"):
            return self._braces(quoted=quoted)
        if self.at("'") and not quoted:
            return self._ansi()
        if self.at("["):
            self.doubt = "'$[', which only some shells calculate"
        match = _PARAMETER.match(self.line, self.pos, self.end)
        if not match:
            return "$"
        self.pos = match.end()
        return DYNAMIC

    def _substitution(self) -> str:
        self.pos += 1
        outer, self._bare = self._bare, BARE
        with self.inside("a command substitution"):
            self.commands(")")
        self._bare = outer
        return DYNAMIC

    def arithmetic(self) -> str:
        """Read from the first of two opening parentheses to the one that closes it."""
        start, depth = self.pos, 0
        self.opaque = True
        with self.inside("an arithmetic expression"):
            while self.pos < self.end:
                sign = self.line[self.pos]
                depth += (sign == "(") - (sign == ")")
                self._calculated(sign)
                if depth == 0:
                    if self.line[self.pos - 2] != ")":
                        self.doubt = "'((' that does not end with '))'"
                    return DYNAMIC
        raise ShellError("this parenthesis is not closed", start)

    def _calculated(self, sign: str) -> None:
        if self.pos in self.marks:
            self.mark(DOUBLE)
        elif sign == "'":
            with self.inside("a quoted part of an expression", fatal=True):
                self._single()
        elif sign == "$":
            self._dollar(quoted=True)
        else:
            self._piece(sign)

    def _braces(self, *, quoted: bool) -> str:
        start = self.pos
        self.pos += 1
        named = _OPERATOR.match(self.line, self.pos, self.end)
        if named:
            self.pos = named.end()
        with self.inside("a parameter expansion", fatal=not named):
            while self.pos < self.end:
                sign = self.line[self.pos]
                if sign == "}" and self.pos not in self.marks:
                    self.pos += 1
                    return DYNAMIC
                if quoted and sign in "'\"":
                    self.doubt = "quotes in a quoted '${'"
                self._calculated("" if quoted and sign == "'" else sign)
        raise ShellError("this brace is not closed", start)

    def _ansi(self) -> str:
        match = _ANSI_STRING.match(self.line, self.pos, self.end)
        if not match:
            raise ShellError("this quote is not closed", self.pos)
        with self.inside("a $'...' string"):
            self.plain_until(match.end(), ANSI)
        if "\\'" in match[0]:
            self.doubt = "an escaped quote in $'...'"
        return DYNAMIC

    def _backticks(self, *, quoted: bool) -> str:
        match = _BACKTICKS.match(self.line, self.pos, self.end)
        if not match:
            raise ShellError("this backtick is not closed", self.pos)
        # Quoting in there has a second level, which is not worth reading: $( ) has none.
        layered = "\\" in match[0] or (quoted and any(sign in match[0] for sign in "'\""))
        with self.inside("a command substitution", fatal=layered):
            if layered:
                self.opaque = True
                self.plain_until(match.end(), BARE)
            else:
                self._in_backticks(match.end(), DOUBLE if quoted else BARE)
        return DYNAMIC

    def _in_backticks(self, end: int, bare: str) -> None:
        outer = self.end, self._bare
        self.pos, self.end, self._bare = self.pos + 1, end - 1, bare
        self.commands()
        if self.pos < self.end:
            raise self.unexpected()
        self.pos, (self.end, self._bare) = end, outer

    def _array(self) -> str:
        start = self.pos
        self.pos += 1
        with self.inside("a list of values"):
            while not self.at(")"):
                if self.pos >= self.end:
                    raise ShellError("this parenthesis is not closed", start)
                if self.peek() in " \t\n":
                    self.pos += 1
                else:
                    self.word()
        self.pos += 1
        return DYNAMIC
