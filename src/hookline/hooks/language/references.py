r"""Values in a flow's steps: `{{input.name}}` and `{{steps.id.field}}`, found without evaluation.

The configuration check and the flow's interpreter both read them here. In a shell line a value
travels in the environment, as it does for command hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hookline.hooks.language import templates
from hookline.hooks.language.braces import Reference, fill, references
from hookline.points import Variable

ROOTS = ("input", "steps")
_HELP = "values are {{input.NAME}} and {{steps.ID.FIELD}}; write \\{{%s}} for the text itself"


class StepLine(NamedTuple):
    """A shell line of a step: what the shell is given, and which value each variable carries.

    `warnings` name the values that can be read as options, `exposed` their variables.
    """

    line: str
    values: dict[str, str]
    problems: list[templates.TemplateProblem]
    warnings: tuple[templates.TemplateProblem, ...] = ()
    exposed: tuple[str, ...] = ()


def step_of(reference: Reference) -> str | None:
    """The step whose result is asked for."""
    root, _, rest = reference.path.partition(".")
    return rest.partition(".")[0] if root == "steps" else None


def problem_of(reference: Reference) -> templates.TemplateProblem | None:
    """What is wrong with a reference."""
    root, _, rest = reference.path.partition(".")
    if reference.escaped or (root in ROOTS and (rest or root == "input")):
        return None
    message = f"there is no value '{reference.path}'"
    return templates.problem_at(templates.UNKNOWN, reference, message, _HELP % reference.path)


def fill_text(text: str, look_up: Callable[[str], Any], show: Callable[[Any], str]) -> Any:
    """A text with its values; one that is nothing but a reference becomes the value itself."""
    found = list(references(text))
    only = found[0] if len(found) == 1 else None
    if only is not None and not only.escaped and text.strip() == text[only.start : only.end]:
        return look_up(only.path)
    return fill(text, look_up, show)


def compile_step_line(text: str) -> StepLine:
    """A step's shell line with each value as a variable that fits the quoting around it."""
    found = list(references(text))
    wrong = [problem for each in found if (problem := problem_of(each))]
    if wrong:
        return StepLine(text, {}, wrong)
    known: dict[str, Variable] = {}
    for number, each in enumerate(found, 1):
        known.setdefault(each.path, Variable(f"value_{number}", True, ""))
    compiled, problems = templates.compile_line(text, known, known)
    warnings = () if problems else tuple(templates.option_warnings(text, known))
    paths = {each.start: each.path for each in found}
    return StepLine(
        compiled,
        {known[each.path].env: each.path for each in found if not each.escaped},
        problems,
        warnings,
        tuple(known[paths[each.offset]].env for each in warnings),
    )
