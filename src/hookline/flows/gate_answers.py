"""The one answer of the gates of a point, as flows go on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.records import OK
from hookline.hooks.builtin.review_prompts import review_prompt
from hookline.hooks.framing import framed, framed_wishes
from hookline.hooks.gate_reports import JUDGED, command_of, report
from hookline.hooks.kinds.program import json_object
from hookline.hooks.names import short_name
from hookline.hooks.rules import RULES
from hookline.points import GATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.records import Outcome
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import Called

MOVER = "rebase_on_main"


def gate_answer(called: Sequence[Called], passed: Sequence[str]) -> dict[str, Any]:
    """What the gates said together, who gave the last word, and who `passed`, now or before.

    `gates` is what each said in short, `judged` are the commits that gates of ours looked at,
    `moved` says where a gate of ours moved the work to, and who had passed it before that.
    """
    answer = msgspec.to_builtins(RULES[GATE].fold(called))
    names = [*passed, *(hook.name for hook, _ in called)]
    last: dict[str, Any] = {"hook": None}
    if called and answer["status"] in ("failure", "pending"):
        last = {"hook": names.pop(), "remediationPrompt": _rejection(*called[-1])}
    reports = [_reported(*each) for each in called if each[1].status == OK]
    found = {"passed": names, "gates": reports, "judged": _commits(called)}
    return {**answer, **last, **found, "moved": _moved(called, passed)}


def _commits(called: Sequence[Called]) -> list[str]:
    answers = [end.answer for hook, end in called if hook.kind == "built-in" and end.status == OK]
    return sorted({str(each.context[JUDGED]) for each in answers if JUDGED in each.context})


def _moved(called: Sequence[Called], passed: Sequence[str]) -> dict[str, Any] | None:
    """What other gates say of where the work stands is not asked: their programs are the work's."""
    for place, (hook, end) in reversed(list(enumerate(called))):
        if hook.kind == "built-in" and hook.target == MOVER and end.status == OK:
            context = end.answer.context
            if context.get("rebased"):
                before = [*passed, *(each.name for each, _ in called[:place])]
                return {"head": context["head"], "before": before}
    return None


def _reported(hook: Hook, outcome: Outcome) -> dict[str, Any]:
    command = command_of(hook, outcome.answer.context)
    return {**report(outcome), "hook": hook.name, **({"command": command} if command else {})}


def _rejection(hook: Hook, outcome: Outcome) -> str | None:
    """What a gate found, for the author of the work; None where an agent can do nothing about it.

    What a program printed is data, and what an agent or a hook of the project wrote is about the
    work only: none of them gives other orders.
    """
    wish = outcome.answer.remediation_prompt if outcome.status == OK else None
    if not wish:
        return None
    if hook.kind == "agent":
        return review_prompt(wish)
    if hook.kind == "built-in":
        return str(wish)
    is_plain = outcome.exit_code and json_object(outcome.stdout) is None
    if hook.kind not in ("command", "script") or not is_plain:
        name = short_name(hook.name)
        return f"The gate {name} rejected your work.\n\n" + framed_wishes("What it says", wish)
    lead = f"`{hook.target}` failed on your work with exit code {outcome.exit_code}."
    return f"{lead}\n\n" + framed("What it printed", wish)
