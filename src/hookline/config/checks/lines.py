"""Checks of texts in the configuration: conditions, prompts, and what kinds find in theirs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from hookline.config.reading.nodes import Node, Scalar, mark_within
from hookline.config.reading.problems import Mark, Problems
from hookline.domain.hooks.condition_fields import condition_fields
from hookline.errors import BadInput, did_you_mean
from hookline.hooks.language.conditions import check, doubts

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from hookline.hooks.kinds import Fault
    from hookline.hooks.language.templates import TemplateProblem
    from hookline.points import Point

MAX_NAMED = 20


def report_faults(value: Node, faults: Iterable[Fault], report: Problems) -> None:
    """Report what a kind of hook finds wrong with its value, each at its place."""
    for each in faults:
        mark = value.mark
        if each.length and isinstance(value, Scalar):
            mark = mark_within(value, each.offset, each.length)
        tell = report.warning if each.is_warning else report.error
        tell(each.code, mark, each.message, help=each.help, consequence=each.consequence)


def warn_of_options(line: Scalar, found: Iterable[TemplateProblem], report: Problems) -> None:
    """Report the variables that a program can read as options."""
    for each in found:
        report.warning(
            each.code,
            mark_within(line, each.offset, each.length),
            each.message,
            help=each.help,
            consequence="it fails when the value begins with '-'",
        )


def check_condition(when: Scalar, point: Point, report: Problems) -> None:
    """A condition must be an expression over names and fields that the point has."""
    known = condition_fields(point.name)
    help = f"`hookline points {point.name}` shows what a condition can use"
    wrong = check(when.text, known)
    if wrong:
        message = f"invalid condition: {wrong}"
        consequence = "this hook would always fail"
        report.error("bad-condition", when.mark, message, help=help, consequence=consequence)
        return
    for doubt in doubts(when.text, known):
        consequence = "this hook fails when that is missing"
        report.warning("unknown-field", when.mark, doubt, help=help, consequence=consequence)


def check_prompt(root: str, name: str, mark: Mark, report: Problems) -> None:
    """A session's prompt must be a file, and name no variable that there is not."""
    from hookline.sessions.told import prompts  # few projects have a prompt of their own

    try:
        template = prompts.read(root, name)
    except BadInput as problem:
        help = problem.help or ""
        consequence = "`hookline run` will refuse this prompt"
        report.warning("unreadable", mark, problem.message, help=help, consequence=consequence)
        return
    unknown: dict[str, re.Match[str]] = {}
    for found in prompts.unknown_variables(template):
        unknown.setdefault(found[1][:60], found)
    for word, found in islice(unknown.items(), MAX_NAMED):
        report.error(
            "unknown-variable",
            _mark_in(name, found),
            f"a session's prompt has no variable '{word}'",
            help=did_you_mean(
                word, prompts.VARIABLES, f"available: {', '.join(prompts.VARIABLES)}"
            ),
            consequence="the agent would see the braces",
        )


def _mark_in(file: str, found: re.Match[str]) -> Mark:
    before = found.string[: found.start()]
    column = len(before) - before.rfind("\n")
    return Mark(file, before.count("\n") + 1, column, len(found[0]))
