"""The combined answer of a point's gates, for flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRED
from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import OK, Outcome
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.hooks.builtin.gates.review_prompts import review_prompt
from hookline.hooks.calls.program import json_object
from hookline.hooks.frames import field_values
from hookline.hooks.framing import framed_wishes, printed
from hookline.hooks.gates.reports import JUDGED, command_of, report
from hookline.hooks.kinds import PROGRAM, REVIEWER, declares
from hookline.hooks.rules import RULES, Called
from hookline.hooks.told_commands import named_command
from hookline.pipeline.checks_ahead import ChecksAhead
from hookline.pipeline.forge_report import ForgeReports
from hookline.points import GATE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.hooks.registry import Hook

MOVERS = ("rebase_on_main", "secrets")


class GateAnswers:
    """Combines the verdicts of gates into one answer, and reports it to the forge."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._reports = ForgeReports(around)

    async def answer(
        self, attempt: Attempt, called: list[Called], passed: list[str]
    ) -> dict[str, Any]:
        """The combined answer of gates that were asked; a point without gates is recorded too."""
        payload = attempt.args["payload"]
        if not called and not passed:
            name = f"{attempt.run.run_id}/{attempt.effect.effect_id}"
            data = {"point": attempt.args["point"], "name": name, "autoAccepted": True}
            attempt.change(lambda tx: tx.append(FIRED, payload["task_id"], data))
        value = gate_answer(called, passed, field_values(payload))
        if value.get("remediationPrompt") and attempt.run.flow in (SUBMIT, MERGE):
            value["ahead"] = await ChecksAhead(self._around, attempt.run).find()
        await self._reports.tell(attempt, called, value)
        return value


def gate_answer(
    called: Sequence[Called], passed: Sequence[str], values: Mapping[str, str]
) -> dict[str, Any]:
    """The combined answer, the gate that decided it, and those that `passed`, now or before.

    `gates` is what each said in short, `judged` are the commits that built-in gates checked,
    `moved` says where a built-in gate moved the work to, and which had passed it before.
    """
    answer = msgspec.to_builtins(RULES[GATE].fold(called))
    names = [*passed, *(hook.name for hook, _ in called)]
    last: dict[str, Any] = {"hook": None}
    if called and answer["status"] in ("failure", "pending"):
        last = {"hook": names.pop(), "remediationPrompt": _rejection(*called[-1], values)}
    reports = [_reported(*each, values) for each in called if each[1].status == OK]
    found = {"passed": names, "gates": reports, "judged": _commits(called)}
    return {**answer, **last, **found, "moved": _moved(called, passed)}


def _commits(called: Sequence[Called]) -> list[str]:
    answers = [end.answer for hook, end in called if hook.kind == "built-in" and end.status == OK]
    return sorted({str(each.context[JUDGED]) for each in answers if JUDGED in each.context})


def _moved(called: Sequence[Called], passed: Sequence[str]) -> dict[str, Any] | None:
    """Only built-in gates may say where the work is: programs of other gates come from the work."""
    for place, (hook, end) in reversed(list(enumerate(called))):
        if hook.kind == "built-in" and hook.target in MOVERS and end.status == OK:
            context = end.answer.context
            if context.get("rebased"):
                before = [*passed, *(each.name for each, _ in called[:place])]
                return {"head": context["head"], "before": before}
    return None


def _reported(hook: Hook, outcome: Outcome, values: Mapping[str, str]) -> dict[str, Any]:
    command = command_of(hook, values, outcome.answer.context.get("command"))
    return {**report(outcome), "hook": hook.name, **({"command": command} if command else {})}


def _rejection(hook: Hook, outcome: Outcome, values: Mapping[str, str]) -> str | None:
    """What a gate found, for the author of the work; None if an agent cannot fix it.

    What a program printed is data, and what an agent or a hook of the project wrote is about the
    work only: none of them gives other orders.
    """
    wish = outcome.answer.remediation_prompt if outcome.status == OK else None
    if not wish:
        return None
    if hook.kind == "built-in":
        return str(wish)
    speaker = declares(hook.kind, "SPEAKS_AS")
    if speaker == REVIEWER:
        return review_prompt(wish)
    is_plain = outcome.exit_code and json_object(outcome.stdout) is None
    if speaker != PROGRAM or not is_plain:
        name = short_name(hook.name)
        return f"The gate {name} rejected your work.\n\n" + framed_wishes("What it says", wish)
    line = command_of(hook, values) or hook.target
    named = named_command(line)
    lead = f"{named.block}{named.begins} failed on your work with exit code {outcome.exit_code}."
    return lead + printed("it", wish if outcome.stdout.strip() or outcome.stderr.strip() else "")
