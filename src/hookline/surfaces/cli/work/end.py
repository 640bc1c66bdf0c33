"""How a worker ended, in words, and the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.domain.text.excerpts import first_few
from hookline.domain.text.terminal import plural
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, OK
from hookline.surfaces.cli.output import answer, next_step, note, paint, say_row, spoken, untrusted
from hookline.surfaces.cli.work.costs import spent_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hookline.worker.account import WorkAccount

SHOWN = 10


def tell_end(args: Namespace, found: WorkAccount) -> int:
    """Tell what came of a worker; the exit code."""
    code = _exit_code(found)
    with spoken(sys.stdout, sys.stderr):
        if answer(args, {"type": "work_ended", "data": found}):
            # Of those that it dealt with itself, it has told already.
            others = [(task, why) for task, why in found.why.items() if task not in found.tasks]
            for task, why in others[:SHOWN]:
                note(f"{paint(f'{task:5}', 'bold', sys.stderr)} {untrusted(why, 300)}")
            for agent, problem in found.unable.items():
                name = paint(untrusted(agent, 80), "bold", sys.stderr)
                note(f"{name} cannot work: {untrusted(problem.told, 500)}")
            style = "green" if code == 0 else "yellow"
            say_row(f"{paint(_headline(found), style)}: {', '.join(_summary(found))}", 2)
            next_step(*_next_command(found))
    return code


def _exit_code(found: WorkAccount) -> int:
    codes = {"stopped": INTERRUPTED, "limit": LIMIT}
    if found.left_alone or found.needs_person:
        codes["done"] = FAILED if found.left_alone else NEEDS_PERSON
    return codes.get(found.outcome, OK)


def _headline(found: WorkAccount) -> str:
    stopped = f"stopped, {found.reason}" if found.reason else "stopped"
    said = {"stopped": stopped, "limit": f"the limit of {found.limit} is reached"}
    done = "the agents cannot do more" if found.unable else "nothing left to do"
    return said.get(found.outcome, done)


def _summary(found: WorkAccount) -> Iterator[str]:
    yield f"{plural(found.begun, 'task')} started"
    yield f"{len(found.merged)} merged"
    for tasks, text in (
        (found.merged_untested, "of them merged untested"),
        (found.sent_back, "sent back"),
        (found.waiting, "waiting at a gate"),
        (found.parked, "parked"),
        (found.blocked, "blocked"),
        (found.failed, "failed"),
        (found.left_alone, "that cannot be started"),
        (found.held_back, "waiting for these"),
        (found.held, "claimed by someone else"),
        (found.not_taken, "that no agent here can take"),
        (list(found.unable), "of the agents cannot work"),
    ):
        if tasks:
            yield f"{len(tasks)} {text} ({first_few(tasks, SHOWN)})"
    if spent := spent_text(found.cost):
        parts = [(f"{each.role} {each.agent}", spent_text(each)) for each in found.cost.roles]
        roles = [f"{who} {part}" for who, part in parts if part]
        yield f"{spent} ({'; '.join(roles)})"


def _next_command(found: WorkAccount) -> tuple[str, str]:
    if found.needs_person or found.left_alone:
        return "hookline attention", "what waits for you"
    if found.outcome in ("stopped", "limit"):
        return "hookline work", "continues"
    return "hookline task graph", ""
