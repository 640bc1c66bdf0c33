"""Reads the commands of a shell line: lists, pipelines, compound commands, here-documents.

It is lenient where the shell would refuse the line, and exact about which word is a command's
first, because that decides what a value may become.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from hookline.hooks.shell.words import (
    COMMENT,
    DOUBLE,
    DYNAMIC,
    MarkSite,
    ShellError,
    Word,
    WordReader,
)

_CLOSERS = ("fi", "done", "esac", "}")
_MIDDLE = ("then", "else", "elif", "do")
_PREFIXES = ("!", "time", "coproc")
_ENDINGS = {"if": "fi", "while": "done", "until": "done", "{": "}"}
_OPENERS = (*_ENDINGS, "for", "select", "case", "function", "[[")
_RESERVED = frozenset((*_CLOSERS, *_MIDDLE, *_OPENERS, "!"))

_ENDS = ("", "\n", ";", "&", "|", ")")

_KEYWORD = re.compile(r"(?:[a-z]+|!|\{|\}|\[\[)(?=[ \t\n;&|<>()]|\\\n[ \t]|\Z)")
_REDIRECTION = re.compile(r"\d*(<<<|<<-?|[<>]&|<>|>>|>\||[<>](?!\())")


class ShellCommand(NamedTuple):
    """The words of a simple command, or those that a loop goes through with its `variable`."""

    start: int
    words: tuple[Word, ...]
    loop: bool = False
    variable: str = ""


class Pipe(NamedTuple):
    """The offsets of what writes into a pipe and of the command that reads from it."""

    start: int
    middle: int
    end: int


class Redirection(NamedTuple):
    """The offsets of what writes into a file or reads from it, and the word that names the file."""

    start: int
    end: int
    target: Word


class Script(NamedTuple):
    """A line as it was read. `opaque`: parts of it may evaluate text and were not looked into."""

    line: str
    sites: Mapping[int, MarkSite]
    commands: tuple[ShellCommand, ...]
    pipes: tuple[Pipe, ...]
    writes: tuple[Redirection, ...]
    reads: tuple[Redirection, ...]
    functions: frozenset[str]
    opaque: bool

    def readers(self, pipe: Pipe) -> list[ShellCommand]:
        """The commands that read from a pipe."""
        return self.within(pipe.middle, pipe.end)

    def within(self, start: int, end: int) -> list[ShellCommand]:
        """The commands that begin between two offsets."""
        return [each for each in self.commands if start <= each.start < end]


def read_script(line: str, marks: Mapping[int, int]) -> Script:
    """Read a line; `marks` are the spans (start to end) to be placed. Raises ShellError."""
    if "\0" in line:
        raise ShellError("a NUL character cannot be in a command", line.index("\0"))
    reader = _ScriptReader(line, marks)
    try:
        reader.commands()
    except RecursionError:
        raise ShellError("the command is nested too deeply", 0) from None
    except ShellError:
        # Where shells differ, this reader may be the one that is wrong; without marks, let it run.
        if marks or not reader.doubt:
            raise
    pipes, writes, reads = tuple(reader.pipes), tuple(reader.writes), tuple(reader.reads)
    found = (tuple(reader.found), pipes, writes, reads)
    return Script(line, reader.sites, *found, frozenset(reader.functions), reader.opaque)


class _ScriptReader(WordReader):
    def __init__(self, line: str, marks: Mapping[int, int]) -> None:
        super().__init__(line, marks)
        self.found: list[ShellCommand] = []
        self.pipes: list[Pipe] = []
        self.writes: list[Redirection] = []
        self.reads: list[Redirection] = []
        self.functions: set[str] = set()
        self._documents: list[tuple[Word, bool]] = []

    def commands(self, *closers: str) -> str:
        waiting = len(self._documents)
        if waiting and closers:
            self.doubt = "a here-document that begins before a substitution or a group"
        while True:
            self._blanks(newlines=True)
            for closer in closers:
                if self._keyword() == closer or (closer in (")", ";;", ";&") and self.at(closer)):
                    if len(self._documents) > waiting:
                        self.doubt = "a here-document that begins before a closing sign"
                    self.pos += len(closer)
                    return closer
            if self.pos >= self.end:
                if closers:
                    raise ShellError(f"'{closers[-1]}' is missing", max(0, self.end - 1))
                return ""
            self._next_command()

    def _next_command(self) -> None:
        keyword = self._keyword()
        if keyword in _MIDDLE:
            self.pos += len(keyword)
        elif self.at("||"):
            self.pos += 2
        elif self.at(";;") or keyword in _CLOSERS or self.peek() in ")|":
            raise self.unexpected()
        elif self.peek() in ";&":
            self.pos += 1
        else:
            self._pipeline()

    def unexpected(self) -> ShellError:
        keyword = self._keyword()
        if keyword:
            return ShellError(f"{keyword!r} is not expected here", self.pos)
        return super().unexpected()

    def _keyword(self) -> str:
        match = _KEYWORD.match(self.line, self.pos, self.end)
        return match[0] if match else ""

    def _pass(self, text: str) -> None:
        if not self.at(text):
            raise self.unexpected()
        self.pos += len(text)

    def _blanks(self, *, newlines: bool = False) -> None:
        while self.pos < self.end:
            if self.peek() in " \t":
                self.pos += 1
            elif self.at("\\\n"):
                self.pos += 2
            elif self.peek() == "#":
                stop = self.line.find("\n", self.pos, self.end)
                self.plain_until(self.end if stop < 0 else stop, COMMENT)
            elif newlines and self.peek() == "\n":
                self.pos += 1
                self._read_documents()
            else:
                return

    def _pipeline(self) -> None:
        start = self.pos
        self._command()
        while self.at("|") and not self.at("||"):
            middle = self.pos
            self.pos += 2 if self.at("|&") else 1
            self._blanks(newlines=True)
            self._command()
            self.pipes.append(Pipe(start, middle, self.pos))

    def _command(self) -> None:
        start = self.pos
        if self._keyword() == "coproc":
            self.opaque, self.doubt = True, "a coprocess"
        while self._keyword() in _PREFIXES:
            self.pos += len(self._keyword())
            self._blanks()
            if self.peek() in _ENDS:
                return
        keyword = self._keyword()
        if keyword in _OPENERS:
            self.pos += len(keyword)
            self._compound(keyword)
        elif self.at("(("):
            self.arithmetic()
        elif self.at("("):
            self.pos += 1
            self.commands(")")
        else:
            self._simple()
            return
        self._blanks()
        while self._redirection(start):
            self._blanks()

    def _compound(self, keyword: str) -> None:
        self._blanks()
        if keyword in _ENDINGS:
            self.commands(_ENDINGS[keyword])
        elif keyword == "case":
            self._case()
        elif keyword == "function":
            with self.inside("the definition of a function"):
                name = self.word()
            self._function(name)
        elif keyword == "[[":
            self._conditional()
        else:
            self._loop()

    def _loop(self) -> None:
        name = ""
        if self.at("(("):
            self.arithmetic()
        else:
            with self.inside("the name of a loop's variable"):
                name = self.word().text
        self._blanks(newlines=True)
        if self._keyword() == "in":
            start = self.pos
            self.pos += len("in")
            self._blanks()
            words = []
            while self.peek() not in ("", *"\n;&|"):
                words.append(self.word())
                self._blanks()
            self.found.append(ShellCommand(start, tuple(words), loop=True, variable=name))
        self.commands("done")

    def _case(self) -> None:
        self.word()
        self._blanks(newlines=True)
        self._pass("in")
        while True:
            self._blanks(newlines=True)
            if self._keyword() == "esac":
                self._pass("esac")
                return
            self.pos += self.at("(")
            self._patterns()
            closer = self.commands(";;", ";&", "esac")
            if closer == "esac":
                return
            self.pos += closer == ";;" and self.at("&")

    def _patterns(self) -> None:
        with self.inside("a pattern of a case"):
            while True:
                self._blanks()
                self.word()
                self._blanks()
                if self.at(")"):
                    self.pos += 1
                    return
                self._pass("|")

    def _conditional(self) -> None:
        self.opaque = True
        with self.inside("a [[ ]] condition"):
            while True:
                self._blanks(newlines=True)
                if self.pos >= self.end:
                    raise ShellError("']]' is missing", self.end - 1)
                if self.peek() in ";&|<>()":
                    self.pos += 1
                elif self.word().text == "]]":
                    return

    def _function(self, name: Word) -> None:
        self.functions.add(name.text)
        self._blanks()
        if self.at("("):
            self.pos += 1
            self._blanks()
            self._pass(")")
        self._blanks(newlines=True)
        with self.inside("the definition of a function"):
            self._command()

    def _simple(self) -> None:
        start, words = self.pos, list[Word]()
        while True:
            self._blanks()
            if self._redirection(start):
                continue
            if self.peek() in _ENDS:
                break
            if self.peek() == "(" and len(words) == 1:
                self._function(words[0])
                break
            words.append(self.word())
        if self.pos == start:
            raise self.unexpected()
        if words and words[0].text in _RESERVED:
            raise ShellError(f"{words[0].text!r} is not expected here", words[0].start)
        self.found.append(ShellCommand(start, tuple(words)))
        if words and words[0].text == "exec" and len(words) == 1:
            self._keep_writing(start)

    def _keep_writing(self, start: int) -> None:
        """After `exec > file` all that follows is written there."""
        own = [each for each in self.writes if each.start == start]
        self.writes += [each._replace(end=len(self.line)) for each in own]

    def _redirection(self, start: int) -> bool:
        match = _REDIRECTION.match(self.line, self.pos, self.end)
        if not match:
            return False
        self.pos = match.end()
        self.opaque = self.opaque or match[1].startswith("<<")
        self._blanks()
        if match[1] in ("<<", "<<-"):
            with self.inside("the delimiter of a here-document", fatal=True):
                word = self.word()
            if DYNAMIC in word.text:
                self.doubt = "a here-document's delimiter that is not plain text"
            self._documents.append((word, match[1] == "<<-"))
        else:
            with self.inside("a here-string" if match[1] == "<<<" else "a redirection's target"):
                target = self.word()
            if ">" in match[1]:
                self.writes.append(Redirection(start, self.pos, target))
            if match[1] in ("<", "<>", "<<<"):
                self.reads.append(Redirection(start, self.pos, target))
        return True

    def _read_documents(self) -> None:
        documents, self._documents = self._documents, []
        for word, tabs in documents:
            stop, after = self._document_end(word.text, tabs)
            if word.quoted:
                with self.inside("a here-document whose delimiter is quoted", fatal=True):
                    self.plain_until(stop, DOUBLE)
            else:
                outer, self.end = self.end, stop
                with self.inside("a here-document"):
                    self.expanding("")
                self.end = outer
            self.pos = after

    def _document_end(self, delimiter: str, tabs: bool) -> tuple[int, int]:
        after = self.pos
        while after < self.end:
            start = after
            newline = self.line.find("\n", start, self.end)
            after = self.end if newline < 0 else newline + 1
            text = self.line[start:after].removesuffix("\n")
            if (text.lstrip("\t") if tabs else text) == delimiter:
                return start, after
        return self.end, self.end
