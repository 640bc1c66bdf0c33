"""What gates said, in short: for the gates after them, and for whoever fixes the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.excerpts import last_line
from hookline.hooks.names import short_name

if TYPE_CHECKING:
    from hookline.domain.records import Outcome
    from hookline.hooks.registry import Hook

# What a gate's payload has in `extra`: what gates said about the work as it is, and what was found
# in it before, with what its author said to that.
GATES, ATTEMPTS = "gates", "attempts"
# In the context of a gate's answer: the commit that it looked at, and all that a review asks for.
JUDGED = "judgedHead"
REVIEW, MAX_REVIEW = "review", 4 * 1024
MAX_MESSAGE = 500
RUNNERS = (("built-in", "run_tests"), ("built-in", "lint"))


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


def command_of(hook: Hook, context: dict[str, Any] | None = None) -> str | None:
    """The line with which an agent can run a gate itself; `context` is what the gate has said."""
    line: Any = hook.target if hook.kind == "command" else None
    if (hook.kind, hook.target) in RUNNERS:
        arguments = hook.metadata.get("arguments")
        line = arguments.get("command") if isinstance(arguments, dict) else arguments
        line = (context or {}).get("command") if line is None else line
    # Values of variables are not known to a shell of the agent's own.
    return line if isinstance(line, str) and "{{" not in line else None
