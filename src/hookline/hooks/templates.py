r"""Template variables of command hooks: `{{task_content}}` in a shell line.

A value never becomes text of the line: it travels in the environment, and its reference becomes
a parameter expansion that fits the quoting around it. `\{{name}}` is the text `{{name}}` itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hookline.errors import HookFailure
from hookline.hooks.shellgrammar import read_script
from hookline.hooks.shelloptions import option_places
from hookline.hooks.shellrisks import unfit_places
from hookline.hooks.shellwords import ANSI, BARE, COMMENT, DOUBLE, SINGLE, ShellError, Site
from hookline.points import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hookline.hooks.shellgrammar import Script
    from hookline.points import Variable

UNKNOWN = "unknown-variable"
UNSAFE = "unsafe-place"
UNCLOSED = "unclosed-variable"
BAD_SHELL = "bad-shell"
OPTION = "option-place"
# What `options:` of a hook or a step says where values may be options.
ALLOW = "allow"
OPTION_HELP = (
    "put `--` before it if the program takes that, join it to an option as in --title={{...}}, "
    f"or permit it with `options: {ALLOW}`"
)

_REFERENCE = re.compile(
    r"(?<!\\)(?P<slashes>(?:\\\\)*)(?P<escape>\\?)"
    r"\{\{[ \t]*(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}"
)
_OPTION_INSIDE = re.compile(r"\s-")
_OPENING = re.compile(r"(?<!\\)\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)")

_EXPANSIONS = {
    BARE: '"${%s}"',
    DOUBLE: "${%s}",
    SINGLE: "'\"${%s}\"'",
    ANSI: "'\"${%s}\"$'",
}


class TemplateProblem(NamedTuple):
    """What is wrong with a line, and where in it."""

    code: str
    offset: int
    length: int
    message: str
    help: str


class _Reference(NamedTuple):
    start: int
    end: int
    name: str
    escaped: bool
    variable: Variable | None


def fill_line(
    line: str, allowed: tuple[str, ...], values: Mapping[str, str], *, options: str | None
) -> str:
    """The line that the shell is given for these values; HookFailure if it must not be run."""
    compiled, exposed = _compiled(line, allowed)
    for name, is_split in exposed if options != ALLOW else ():
        value = values.get(name, "")
        if value.startswith("-") or (is_split and _OPTION_INSIDE.search(value)):
            raise HookFailure(f"{is_option(name)}: {OPTION_HELP}")
    return compiled


def is_option(name: str) -> str:
    """What is said of a value that a program would read as an option."""
    return f"{{{{{name}}}}} begins with '-' here and would be read as an option"


@lru_cache(maxsize=256)
def _compiled(line: str, allowed: tuple[str, ...]) -> tuple[str, tuple[tuple[str, bool], ...]]:
    """The line, and the variables in it that can be read as options, each word or the first."""
    # Reading the shell's language costs more than running most lines.
    compiled, problems = compile_line(line, allowed)
    if problems:
        raise HookFailure("; ".join(f"{each.message}: {each.help}" for each in problems))
    exposed = ((each.name, is_split) for each, is_split in _exposed(line, VARIABLES))
    return compiled, tuple(dict.fromkeys(exposed))


def option_warnings(
    line: str, known: Mapping[str, Variable] = VARIABLES
) -> Iterator[TemplateProblem]:
    """Each variable of a line without problems that can be read as an option."""
    for each, _ in _exposed(line, known):
        if each.variable is not None and each.variable.free and not each.variable.begins:
            message = f"{{{{{each.name}}}}} can be read as an option"
            length = each.end - each.start
            yield TemplateProblem(OPTION, each.start, length, message, OPTION_HELP)


def _exposed(line: str, known: Mapping[str, Variable]) -> Iterator[tuple[_Reference, bool]]:
    references = list(_references(line, known))
    places = option_places(_script(line, references)) if references else {}
    for each in references:
        if each.start in places and not each.escaped:
            yield each, places[each.start]


def compile_line(
    line: str, allowed: Collection[str], known: Mapping[str, Variable] = VARIABLES
) -> tuple[str, list[TemplateProblem]]:
    """The line that the shell is given, and every problem; with problems it must not be run."""
    references = list(_references(line, known))
    problems = list(_unclosed(line))
    try:
        script = _script(line, references)
    except ShellError as error:
        problems.append(
            TemplateProblem(BAD_SHELL, error.offset, 1, error.message, error.help or "")
        )
        problems += [_unknown(each, allowed) for each in _strangers(references, allowed)]
        return line, sorted(problems, key=lambda each: each.offset)
    unfit = unfit_places(script)
    pieces, done = [], 0
    for each in references:
        site = script.sites[each.start]
        problem = _problem(each, site, unfit.get(each.start), allowed)
        pieces += [line[done : each.start], line[each.start : each.end]]
        if problem:
            problems.append(problem)
        else:
            pieces[-1] = _expansion(line, each, site.quote)
        done = each.end
    return "".join((*pieces, line[done:])), sorted(problems, key=lambda each: each.offset)


def _script(line: str, references: list[_Reference]) -> Script:
    return read_script(line, {each.start: each.end for each in references})


def _references(line: str, known: Mapping[str, Variable]) -> Iterator[_Reference]:
    for match in _REFERENCE.finditer(line):
        name, escaped = match["name"], bool(match["escape"])
        yield _Reference(match.start("escape"), match.end(), name, escaped, known.get(name))


def _unclosed(line: str) -> Iterator[TemplateProblem]:
    """Openings of known variables that nothing closes before the next opening or the end."""
    for match in _OPENING.finditer(line):
        rest = line[match.end() :].partition("{{")[0]
        if match[1] not in VARIABLES or "}}" in rest:
            continue
        yield TemplateProblem(
            UNCLOSED,
            match.start(),
            len(match[0]),
            f"{match[0]} is not closed",
            f"write {{{{{match[1]}}}}}",
        )


def _expansion(line: str, reference: _Reference, quote: str) -> str:
    text = line[reference.start : reference.end]
    if quote == COMMENT:
        return text
    if not reference.escaped and reference.variable is not None:
        return _EXPANSIONS[quote] % reference.variable.env
    # Bare, the shell itself takes the backslash away; after a '$' it keeps `${` from forming.
    keep = quote == BARE or line[: reference.start].endswith("$")
    return text if keep else text[1:]


def _strangers(references: list[_Reference], allowed: Collection[str]) -> Iterator[_Reference]:
    return (each for each in references if not each.escaped and each.name not in allowed)


def _problem(
    reference: _Reference, site: Site, unfit: str | None, allowed: Collection[str]
) -> TemplateProblem | None:
    if reference.escaped or site.quote == COMMENT:
        return None
    variable = reference.variable
    if variable is None or reference.name not in allowed:
        return _unknown(reference, allowed)
    if site.fatal:
        message = f"{{{{{variable.name}}}}} cannot stand in {site.reason}"
        return _unsafe(reference, variable, message)
    if unfit and variable.free:
        message = f"{{{{{variable.name}}}}} is free text and cannot be part of {unfit}"
        return _unsafe(reference, variable, message)
    return None


def _unsafe(reference: _Reference, variable: Variable, message: str) -> TemplateProblem:
    remedy = (
        f"call a script and read ${variable.env} inside the script instead, "
        f"or pass it as an argument of its own"
    )
    length = reference.end - reference.start
    return TemplateProblem(UNSAFE, reference.start, length, message, remedy)


def _unknown(reference: _Reference, allowed: Collection[str]) -> TemplateProblem:
    # Needed for messages only, and as slow to import as the rest of this module.
    from difflib import get_close_matches

    near = get_close_matches(reference.name.lower(), sorted(allowed), n=1)
    message = (
        f"{{{{{reference.name}}}}} has no value at this point"
        if reference.variable is not None
        else f"there is no variable '{reference.name}'"
    )
    remedy = (
        (f"did you mean '{near[0]}'? " if near else "")
        + f"this point has: {', '.join(sorted(allowed))}; "
        + f"write \\{{{{{reference.name}}}}} for the text itself"
    )
    length = reference.end - reference.start
    return TemplateProblem(UNKNOWN, reference.start, length, message, remedy)
