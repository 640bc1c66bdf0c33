"""Says where in a shell line a value would become code, a program's name or a file's.

What a line keeps in a variable, writes into a file or pipes on may become code later in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from hookline.hooks.shell.grammar import Script, ShellCommand, read_script
from hookline.hooks.shell.risks import (
    SETTERS,
    code_words,
    name_of,
    names,
    reads_code,
    written_and_run,
)
from hookline.hooks.shell.words import DYNAMIC, ShellError, Word

_CODE_VARIABLE = re.compile(
    r"(?:LD|DYLD|BASH|GIT|SSH|NODE|NPM|JAVA|CARGO)_.*|(?:PYTHON|PERL5|RUBY|LESS|MAKE).*"
    r"|(?:CD|CLASS|F|GO|INFO|MAN)?PATH|.*(?:COMMAND|OPTIONS|OPTS?|FLAGS|EDITOR|PAGER|BROWSER)"
    r"|.*(?:SHELL|WRAPPER|ASKPASS)|ENV|IFS|VISUAL|PS[0-4]|TERMINAL|HOME|ZDOTDIR|CC|CXX"
)
_HARMLESS_VARIABLE = re.compile(r"GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)")
_NAME_OPTIONS = names("-v -R")

# How a line shows the values of its variables.
_SHOWS_VARIABLES = re.compile(
    r"[$`]|\b(?:env|printenv|set|export|readonly|declare|typeset|local|compgen)\b"
)
# Text without any of these signs makes no code of what it does not hold itself.
_MAY_EVALUATE = re.compile(r"[$`(|>]|\sENV\b")
# How other languages run text that they were given.
_CALLS_CODE = re.compile(
    r"\b(?:eval|exec\w*|system|popen|spawn\w*|subprocess|Function)(?:\s*[(.$`{]|\s+ENV\b)"
)
# The last word of the command before.
_LAST_WORD = re.compile(r"\$(?:_|\{_)(?!\w)")


def unfit_places(script: Script) -> dict[int, str]:
    """Each mark that is where free text is not allowed, by its offset, and what the place is."""
    found = {start: site.reason for start, site in script.sites.items() if site.reason}
    for command in script.commands:
        for word, reason in (*code_words(command, script), *_name_words(command)):
            _add(script, found, word.start, word.end, reason)
    evaluates = _evaluates(script)
    if evaluates:
        for word in _kept_words(script):
            _add(script, found, word.start, word.end, "text that the line evaluates later")
    for pipe in script.pipes:
        if evaluates or any(map(reads_code, script.readers(pipe))):
            reason = "text that the line pipes into a program that runs it"
            _add(script, found, pipe.start, pipe.middle, reason)
    for start, end, _ in written_and_run(script, evaluates=evaluates and _runs_unknown(script)):
        _add(script, found, start, end, "text that the line writes into a file and runs")
    return found


def _add(script: Script, found: dict[int, str], start: int, end: int, reason: str) -> None:
    for mark in script.sites:
        if start <= mark < end:
            found.setdefault(mark, reason)


def _evaluates(script: Script) -> bool:
    """Whether the line makes code of something that is known only when it runs."""
    return script.opaque or _runs_unknown(script) or _passes_variables_on(script)


def _runs_unknown(script: Script) -> bool:
    return any(
        (DYNAMIC in word.text and any(sign in word.raw for sign in "$`("))
        or _code_evaluates(word.text)
        for command in script.commands
        for word, _ in code_words(command, script)
    )


def _passes_variables_on(script: Script) -> bool:
    """Whether it may pipe the value of a variable into a program that runs it, or write it into a
    file that it runs."""
    line = script.line
    sources = [
        line[pipe.start : pipe.middle]
        for pipe in script.pipes
        if any(map(reads_code, script.readers(pipe)))
    ]
    for start, end, target in written_and_run(script):
        sources += [line[start : min(end, target.start)], line[target.end : end]]
    return any(map(_SHOWS_VARIABLES.search, sources))


def _code_evaluates(code: str) -> bool:
    """The same of code inside the line, such as `eval $A`; most of it is for a shell."""
    if not _MAY_EVALUATE.search(code):
        return False
    try:
        return bool(_CALLS_CODE.search(code)) or _evaluates(read_script(code, {}))
    except ShellError:  # code for another language, in which '$' begins a variable as well
        return "$" in code or "`" in code


def _name_words(command: ShellCommand) -> Iterator[tuple[Word, str]]:
    """The words that name a variable, or set one that programs take for code."""
    words = command.words
    setter = bool(SETTERS.intersection(map(name_of, words)))
    for word in words:
        name, equals, _ = word.text.partition("=")
        name = name.removesuffix("+")
        if equals and _CODE_VARIABLE.fullmatch(name) and not _HARMLESS_VARIABLE.fullmatch(name):
            yield word, f"the value of {name}"
        elif setter and (not equals or DYNAMIC in name):
            yield word, "the name of a variable"
    if {"test", "[", "printf"}.intersection(map(name_of, words)):
        for before, after in pairwise(words):
            if before.text in _NAME_OPTIONS:
                yield after, "the name of a variable"


def _kept_words(script: Script) -> Iterator[Word]:
    """The words whose values the shell keeps, so that the rest of the line can use them."""
    keeps_all = bool(_LAST_WORD.search(script.line))
    for command in script.commands:
        sets = SETTERS.union({"set"}).intersection(map(name_of, command.words))
        if command.loop or sets or keeps_all or _is_printed_into_variable(command):
            yield from command.words
        else:
            yield from (word for word in command.words if word.assigns)


def _is_printed_into_variable(command: ShellCommand) -> bool:
    texts = [word.text for word in command.words]
    return "printf" in texts and any(text.startswith("-v") for text in texts)
