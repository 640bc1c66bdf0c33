r"""Template variables of command hooks: `{{task_content}}` in a shell line.

A value never becomes text of the line: it travels in the environment, and its reference becomes
a parameter expansion that fits the quoting around it. `\{{name}}` is the text `{{name}}` itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from hookline.errors import HookFailure, did_you_mean
from hookline.hooks.language.braces import Reference, references
from hookline.hooks.shell.grammar import Script, read_script
from hookline.hooks.shell.options import option_places
from hookline.hooks.shell.unfit import unfit_places
from hookline.hooks.shell.words import ANSI, BARE, COMMENT, DOUBLE, SINGLE, MarkSite, ShellError
from hookline.points import VARIABLES, Variable

UNKNOWN = "unknown-variable"
UNSAFE = "unsafe-place"
UNCLOSED = "unclosed-variable"
BAD_SHELL = "bad-shell"
OPTION = "option-place"
# What `options:` of a hook or a step says where values may be options.
ALLOW = "allow"
OPTION_HELP = (
    "put `--` before it if the program takes that, join it to an option as in --title={{...}}, "
    f"or allow it with `options: {ALLOW}`"
)

_OPTION_INSIDE = re.compile(r"\s-")
_OPENING = re.compile(r"(?<!\\)\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)")

_EXPANSIONS = {BARE: '"${%s}"', DOUBLE: "${%s}", SINGLE: "'\"${%s}\"'", ANSI: "'\"${%s}\"$'"}


class TemplateProblem(NamedTuple):
    """What is wrong with a line, and where in it."""

    code: str
    offset: int
    length: int
    message: str
    help: str


def problem_at(code: str, reference: Reference, message: str, help: str) -> TemplateProblem:
    """A problem with one reference."""
    length = reference.end - reference.start
    return TemplateProblem(code, reference.start, length, message, help)


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
    exposed = ((each.path, is_split) for each, is_split in _exposed(line, VARIABLES))
    return compiled, tuple(dict.fromkeys(exposed))


def option_warnings(
    line: str, known: Mapping[str, Variable] = VARIABLES
) -> Iterator[TemplateProblem]:
    """Each variable of a line without problems that can be read as an option."""
    for each, _ in _exposed(line, known):
        variable = known.get(each.path)
        if variable is not None and variable.free and not variable.begins:
            message = f"{{{{{each.path}}}}} can be read as an option"
            yield problem_at(OPTION, each, message, OPTION_HELP)


def _exposed(line: str, known: Mapping[str, Variable]) -> Iterator[tuple[Reference, bool]]:
    found = _references(line, known)
    places = option_places(_script(line, found)) if found else {}
    for each in found:
        if each.start in places and not each.escaped:
            yield each, places[each.start]


def compile_line(
    line: str, allowed: Collection[str], known: Mapping[str, Variable] = VARIABLES
) -> tuple[str, list[TemplateProblem]]:
    """The line that the shell is given, and every problem; with problems it must not be run."""
    found = _references(line, known)
    problems = list(_unclosed(line))
    try:
        script = _script(line, found)
    except ShellError as error:
        told = (error.message, error.help or "")
        problems.append(TemplateProblem(BAD_SHELL, error.offset, 1, *told))
        strange = (each for each in found if not each.escaped and each.path not in allowed)
        problems += [_unknown(each, allowed, known) for each in strange]
        return line, sorted(problems, key=lambda each: each.offset)
    unfit = unfit_places(script)
    pieces, done = [], 0
    for each in found:
        site, variable = script.sites[each.start], known.get(each.path)
        if each.escaped or site.quote == COMMENT:
            problem = None
        elif variable is None or each.path not in allowed:
            problem = _unknown(each, allowed, known)
        else:
            problem = _unsafe(each, site, unfit.get(each.start), variable)
        pieces += [line[done : each.start], line[each.start : each.end]]
        if problem:
            problems.append(problem)
        else:
            pieces[-1] = _expansion(line, each, site.quote, variable)
        done = each.end
    return "".join((*pieces, line[done:])), sorted(problems, key=lambda each: each.offset)


def _script(line: str, found: list[Reference]) -> Script:
    return read_script(line, {each.start: each.end for each in found})


def _references(line: str, known: Mapping[str, Variable]) -> list[Reference]:
    # A path is another program's template, unless it is known.
    return [each for each in references(line) if each.path in known or each.path.isidentifier()]


def _unclosed(line: str) -> Iterator[TemplateProblem]:
    """Openings of known variables that nothing closes before the next opening or the end."""
    for match in _OPENING.finditer(line):
        rest = line[match.end() :].partition("{{")[0]
        if match[1] in VARIABLES and "}}" not in rest:
            told = (f"{match[0]} is not closed", f"write {{{{{match[1]}}}}}")
            yield TemplateProblem(UNCLOSED, match.start(), len(match[0]), *told)


def _expansion(line: str, reference: Reference, quote: str, variable: Variable | None) -> str:
    text = line[reference.start : reference.end]
    if quote == COMMENT:
        return text
    if not reference.escaped and variable is not None:
        return _EXPANSIONS[quote] % variable.env
    # Bare, the shell itself takes the backslash away; after a '$' it keeps `${` from forming.
    keep = quote == BARE or line[: reference.start].endswith("$")
    return text if keep else text[1:]


def _unsafe(
    reference: Reference, site: MarkSite, unfit: str | None, variable: Variable
) -> TemplateProblem | None:
    if site.fatal:
        message = f"{{{{{reference.path}}}}} cannot be used in {site.reason}"
    elif unfit and variable.free:
        message = f"{{{{{reference.path}}}}} is free text and cannot be part of {unfit}"
    else:
        return None
    script = f"call a script and read ${variable.env} inside the script instead"
    remedy = f"{script}, or pass it as a separate argument"
    return problem_at(UNSAFE, reference, message, remedy)


def _unknown(
    reference: Reference, allowed: Collection[str], known: Collection[str]
) -> TemplateProblem:
    path, here = reference.path, sorted(allowed)
    message = f"there is no variable '{path}'"
    if path in known:
        message = f"{{{{{path}}}}} has no value at this point"
    remedy = f"this point has: {', '.join(here)}; write \\{{{{{path}}}}} for the text itself"
    return problem_at(UNKNOWN, reference, message, did_you_mean(path.lower(), here, remedy))
