"""What gates said, in short: for the gates after them, and for the agent that fixes the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookline.domain.hooks.names import short_name
from hookline.domain.text.excerpts import last_line
from hookline.hooks.language.braces import fill, references

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.hooks.records import Outcome
    from hookline.hooks.registry import Hook

# What a gate's payload has in `extra`: what gates said about the work as it is, and what was found
# in it before, with what its author said to that.
GATES, ATTEMPTS = "gates", "attempts"
# In the context of a gate's answer: the commit that it looked at, and all that a review asks for.
JUDGED = "judgedHead"
# What a remote has that should not be known.
LEAKED = "leaked"
# Commits below a merge that no gate has checked.
BENEATH = "beneath"
REVIEW, MAX_REVIEW = "review", 4 * 1024
MAX_MESSAGE = 500
RUNNERS = (("built-in", "run_tests"), ("built-in", "lint"))
# What means the same to a shell anywhere in a line.
_PLAIN = r"[\w./@:+][\w./@:+-]*"


def report(outcome: Outcome) -> dict[str, str]:
    """The verdict of a gate that has answered, and the last line that it printed."""
    answer = outcome.answer
    printed = answer.context.get("printed") or last_line(outcome.stdout)
    found = {
        "gate": short_name(outcome.hook),
        "status": answer.status,
        "message": " ".join(answer.message.split())[:MAX_MESSAGE],
        "printed": str(printed)[:MAX_MESSAGE],
    }
    return {name: text for name, text in found.items() if text}


def with_report(extra: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """What the next gate is told besides the work itself."""
    so_far = extra.get(GATES)
    reports = [*(so_far if isinstance(so_far, list) else ()), report(outcome)]
    return {outcome.hook: outcome.answer.context, **extra, GATES: reports}


def command_of(
    hook: Hook, values: Mapping[str, str] | None = None, found: str | None = None
) -> str | None:
    """The line with which an agent can run a gate itself; None where it cannot.

    `values` are those of template variables, as far as they are known. `found` is what a gate runs
    that finds its command.
    """
    line: Any = hook.target if hook.kind == "command" else None
    if (hook.kind, hook.target) in RUNNERS:
        arguments = hook.metadata.get("arguments")
        line = arguments.get("command") if isinstance(arguments, dict) else arguments
        line = found if line is None else line
    return runnable(line, values or {}) if isinstance(line, str) else None


def runnable(line: str, values: Mapping[str, str]) -> str | None:
    """A line with its variables filled in; None if a value is not known, or is not plain text."""

    def value(path: str) -> str:
        # A path is another program's template.
        return values[path] if path.isidentifier() else f"{{{{{path}}}}}"

    asked = (each.path for each in references(line) if not each.escaped)
    names = (path for path in asked if path.isidentifier())
    if all(re.fullmatch(_PLAIN, values.get(name, ""), re.ASCII) for name in names):
        return fill(line, value)
    return None
