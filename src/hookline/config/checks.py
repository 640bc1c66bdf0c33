"""Checks of what a hook runs: shell lines, conditions, functions, URLs, files."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookline.config.nodes import mark_within
from hookline.config.problems import Mark, did_you_mean
from hookline.domain.condition_fields import condition_fields
from hookline.errors import BadInput
from hookline.hooks.conditions import check, doubts
from hookline.hooks.templates import ALLOW, compile_line, option_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.config.nodes import Scalar
    from hookline.config.problems import Report
    from hookline.hooks.templates import TemplateProblem
    from hookline.points import Point

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_VARIABLE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
NEVER = "this hook would never run"
MAX_NAMED = 20


def check_command(line: Scalar, point: Point, report: Report, options: str | None) -> None:
    """Template variables must exist at the point and stand where their text stays text."""
    _, problems = compile_line(line.text, point.variables)
    for each in problems:
        mark = mark_within(line, each.offset, each.length)
        report.error(each.code, mark, each.message, help=each.help or "")
    if not problems and options != ALLOW:
        warn_of_options(line, option_warnings(line.text), report)


def warn_of_options(line: Scalar, found: Iterable[TemplateProblem], report: Report) -> None:
    """Report the variables that a program can read as options."""
    for each in found:
        report.warning(
            each.code,
            mark_within(line, each.offset, each.length),
            each.message,
            help=each.help,
            consequence="it fails where the value begins with '-'",
        )


def check_condition(when: Scalar, point: Point, report: Report) -> None:
    """A condition must be an expression over names and fields that the point has."""
    known = condition_fields(point.name)
    help = f"`hookline points {point.name}` shows what a condition may look at"
    wrong = check(when.text, known)
    if wrong:
        report.error(
            "bad-condition",
            when.mark,
            f"the condition cannot be used: {wrong}",
            help=help,
            consequence="this hook would fail each time",
        )
        return
    for doubt in doubts(when.text, known):
        report.warning(
            "unknown-field",
            when.mark,
            doubt,
            help=help,
            consequence="this hook fails where that is missing",
        )


def check_function(target: Scalar, report: Report) -> None:
    """A python hook is named module:function."""
    if not _FUNCTION.fullmatch(target.text):
        report.error(
            "bad-function",
            target.mark,
            f"'{target.text}' names no function",
            help="write it as module:function, such as myhooks:page_me",
            consequence=NEVER,
        )


def check_url(url: Scalar, point: Point, report: Report) -> None:
    """A URL needs http or https and a fixed host; variables may stand in path and query."""
    wrong = _url_problem(url.text)
    if wrong:
        report.error("bad-url", url.mark, wrong[0], help=wrong[1], consequence=NEVER)
        return
    for found in _VARIABLE.finditer(url.text):
        if found[1] not in point.variables:
            report.error(
                "unknown-variable",
                mark_within(url, found.start(), len(found[0])),
                f"there is no variable '{found[1]}' at {point.name}",
                help=did_you_mean(
                    found[1], point.variables, f"available: {', '.join(point.variables)}"
                ),
            )


def _url_problem(url: str) -> tuple[str, str] | None:
    example = "write it like https://example.org/hook"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        return f"this is not a URL: {problem}", example
    if parts.scheme not in ("http", "https"):
        return "the URL must begin with http:// or https://", example
    if "{{" in parts.netloc:
        return "the host is fixed: no variable may stand in it", "put the variable into the path"
    if not host:
        return "the URL names no host", example
    if re.search(r"[\s\x00-\x1f]", _VARIABLE.sub("", url)):
        return "the URL holds blanks or control characters", "write a blank as %20"
    return None


def check_script(script: Scalar, path: str, report: Report) -> None:
    """A script must be there and be executable."""
    if not os.path.isfile(path):
        arguments = " " in script.text.strip()
        report.error(
            "no-such-script",
            script.mark,
            f"there is no file '{script.text}'",
            help="a line with arguments goes under `command:`" if arguments else "fix the path",
            consequence=NEVER,
        )
    elif not os.access(path, os.X_OK):
        report.error(
            "not-executable",
            script.mark,
            f"'{script.text}' is not executable",
            help=f"chmod +x {script.text}",
            consequence=NEVER,
        )


def check_prompt(root: str, name: str, mark: Mark, report: Report) -> None:
    """A session's prompt must be a file, and name no variable that there is not."""
    from hookline.flows import prompts  # few projects have a prompt of their own

    try:
        template = prompts.read(root, name)
    except BadInput as problem:
        report.warning(
            "unreadable",
            mark,
            problem.message,
            help=problem.help or "",
            consequence="`hookline run` will refuse this prompt",
        )
        return
    unknown: dict[str, re.Match[str]] = {}
    for found in prompts.unknown_variables(template):
        unknown.setdefault(found[1][:60], found)
    for word, found in islice(unknown.items(), MAX_NAMED):
        report.error(
            "unknown-variable",
            _mark_in(name, found),
            f"there is no variable '{word}' in the prompt of a session",
            help=did_you_mean(
                word, prompts.VARIABLES, f"available: {', '.join(prompts.VARIABLES)}"
            ),
            consequence="the agent would read the braces",
        )


def _mark_in(file: str, found: re.Match[str]) -> Mark:
    before = found.string[: found.start()]
    column = len(before) - before.rfind("\n")
    return Mark(file, before.count("\n") + 1, column, len(found[0]))
