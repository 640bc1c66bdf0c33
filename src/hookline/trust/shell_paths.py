"""The words of a shell line that could be file names. Generous: better one too many."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Plain strings: `re` compiles and keeps them at first use, and most commands never get here.
_PIECES = (
    r"'(?P<single>[^']*)'?"
    r'|"(?P<double>(?:[^"\\]|\\.)*)"?'
    r"|\\(?P<escaped>.)"
    r"|(?P<write>>+[&|]?[ \t]*)"
    r"|(?P<stop><>|[\s;|&()<`])"
    r"|(?P<plain>[^\s;|&()<>`'\"\\]+)"
)
_ROOT_NAMES = r"\{\{\s*project\s*\}\}|\$(?:HOOKLINE_PROJECT|PWD)\b|\$\{(?:HOOKLINE_PROJECT|PWD)\}"
_NESTED = frozenset(" \t\n;|&()<>`'\"\\")
_DEPTH = 4
# Programs that run the file named after their options, whatever it is called.
_INTERPRETERS = frozenset(
    ". source sh bash dash zsh ksh fish busybox python pypy node deno bun ruby perl php lua tclsh"
    " awk gawk mawk sed jq make Rscript env sudo nohup exec command xargs time".split()
)


def literal_words(line: str) -> Iterator[tuple[str, bool]]:
    """Every word, what follows a `=` in it, and the words of quoted commands inside it.

    With each goes whether it is where an interpreter expects its script. The project's own
    folder, written as a variable, becomes `.`.
    """
    has_names = "$" in line or "{" in line
    return _words_within(re.sub(_ROOT_NAMES, ".", line) if has_names else line, _DEPTH)


def _words_within(line: str, depth: int) -> Iterator[tuple[str, bool]]:
    script_next = False
    for word in shell_words(line):
        yield word, script_next
        if not word.startswith("-"):
            script_next = _program(word) in _INTERPRETERS
        _, equals, value = word.partition("=")
        while equals:
            yield value, False
            _, equals, value = value.partition("=")
        if depth and word != line and not _NESTED.isdisjoint(word):
            yield from _words_within(word, depth - 1)


def _program(word: str) -> str:
    return word.rpartition("/")[2].rstrip("0123456789.") or word


def shell_words(line: str) -> list[str]:
    """The words of a line with their quotes removed, without the files it only writes to."""
    words: list[str] = []
    word: str | None = None
    written = False
    for piece in re.finditer(_PIECES, line, re.DOTALL):
        kind = piece.lastgroup or ""
        if kind in ("write", "stop"):
            _finish(words, word, written)
            word, written = None, kind == "write"
        else:
            word = (word or "") + _unquoted(kind, piece[kind])
    _finish(words, word, written)
    return words


def _finish(words: list[str], word: str | None, written: bool) -> None:
    # A redirection's target is output, and would undo the trust each time the hook has run;
    # but what is substituted into its name is run.
    if word and (not written or "$" in word or "`" in word):
        words.append(word)


def _unquoted(kind: str, text: str) -> str:
    if kind == "double":
        return re.sub(r'\\([\\"$`])|\\\n', lambda found: found[1] or "", text)
    return "" if (kind, text) == ("escaped", "\n") else text
