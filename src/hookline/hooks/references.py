r"""Values in a flow's steps: `{{input.name}}` and `{{steps.id.field}}`, found without evaluation.

The configuration check and the flow's interpreter both read them here. `\{{input.name}}` is the
text itself. In a shell line a value travels in the environment, as it does for command hooks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.hooks.templates import (
    UNKNOWN,
    TemplateProblem,
    compile_line,
    option_warnings,
)
from hookline.points import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOTS = ("input", "steps")
_FOUND = re.compile(
    r"(?<!\\)(?P<slashes>(?:\\\\)*)(?P<escape>\\?)"
    r"\{\{[ \t]*(?P<path>[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)[ \t]*\}\}"
)
_HELP = "values are {{input.NAME}} and {{steps.ID.FIELD}}; write \\{{%s}} for the text itself"


class Reference(NamedTuple):
    """A value that a text asks for, and where."""

    start: int
    end: int
    path: str
    escaped: bool

    @property
    def step(self) -> str | None:
        """The step whose result is asked for."""
        root, _, rest = self.path.partition(".")
        return rest.partition(".")[0] if root == "steps" else None


class StepLine(NamedTuple):
    """A shell line of a step: what the shell is given, and which value each variable carries.

    `warnings` name the values that can be read as options, `exposed` their variables.
    """

    line: str
    values: dict[str, str]
    problems: list[TemplateProblem]
    warnings: tuple[TemplateProblem, ...] = ()
    exposed: tuple[str, ...] = ()


def references(text: str) -> Iterator[Reference]:
    """Every reference in a text, those that stand for themselves included."""
    for match in _FOUND.finditer(text):
        yield Reference(match.start("escape"), match.end(), match["path"], bool(match["escape"]))


def problem_of(reference: Reference) -> TemplateProblem | None:
    """What is wrong with a reference by itself."""
    root, _, rest = reference.path.partition(".")
    if reference.escaped or (root in ROOTS and (rest or root == "input")):
        return None
    length = reference.end - reference.start
    message = f"there is no value '{reference.path}'"
    return TemplateProblem(UNKNOWN, reference.start, length, message, _HELP % reference.path)


def fill_text(text: str, look_up: Callable[[str], Any], show: Callable[[Any], str]) -> Any:
    """A text with its values; one that is nothing but a reference becomes the value itself."""
    found = list(references(text))
    if len(found) == 1 and not found[0].escaped and text.strip() == text[slice(*found[0][:2])]:
        return look_up(found[0].path)
    pieces, done = [], 0
    for each in found:
        inside = text[each.start + 1 : each.end] if each.escaped else show(look_up(each.path))
        pieces += [text[done : each.start], inside]
        done = each.end
    return "".join((*pieces, text[done:]))


def compile_step_line(text: str) -> StepLine:
    """A step's shell line with each value as a variable that fits the quoting around it."""
    found = list(references(text))
    wrong = [problem for each in found if (problem := problem_of(each))]
    if wrong:
        return StepLine(text, {}, wrong)
    names = [f"value_{number}" for number in range(1, len(found) + 1)]
    known = {name: Variable(name, True, "") for name in names}
    line, starts = _renamed(text, found, names)
    compiled, problems = compile_line(line, known, known)
    values = {}
    for name, each in zip(names, found, strict=True):
        if each.escaped:
            compiled = compiled.replace(f"{{{{{name}}}}}", text[each.start + 1 : each.end])
        else:
            values[known[name].env] = each.path
    warnings = [] if problems else list(option_warnings(line, known))
    return StepLine(
        compiled,
        values,
        [_moved(each, names, found, starts) for each in problems],
        tuple(_moved(each, names, found, starts) for each in warnings),
        tuple(known[names[starts.index(each.offset)]].env for each in warnings),
    )


def _renamed(text: str, found: list[Reference], names: list[str]) -> tuple[str, list[int]]:
    line, done, starts = "", 0, []
    for name, each in zip(names, found, strict=True):
        line += text[done : each.start]
        starts.append(len(line))
        line += ("\\" if each.escaped else "") + f"{{{{{name}}}}}"
        done = each.end
    return line + text[done:], starts


def _moved(
    problem: TemplateProblem, names: list[str], found: list[Reference], starts: list[int]
) -> TemplateProblem:
    """A problem of the renamed line, told about the line that the user wrote."""
    message, offset, length = problem.message, problem.offset, problem.length
    for name, each, start in zip(names, found, starts, strict=True):
        message = message.replace(f"{{{{{name}}}}}", f"{{{{{each.path}}}}}")
        if start == problem.offset:
            offset, length = each.start, each.end - each.start
        elif start < problem.offset:
            offset = problem.offset - (start - each.start) + _growth(name, each)
    return problem._replace(message=message, offset=offset, length=length)


def _growth(name: str, reference: Reference) -> int:
    """How much longer the reference is than what stood in its place."""
    return reference.end - reference.start - len(name) - 4 - reference.escaped
