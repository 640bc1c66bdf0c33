"""How a session ended, for the person or the program that waited for it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from hookline.domain import sessions
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, OK
from hookline.surfaces.cli.live_text import plural
from hookline.surfaces.cli.output import (
    next_step,
    note,
    paint,
    say,
    say_json,
    spoken,
    untrusted,
)
from hookline.surfaces.cli.session_facts import CANCELLED, PARKED, resume_command

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.ports.store import View
    from hookline.surfaces.cli.session_facts import Facts

EXITS = {
    sessions.COMPLETED: OK,
    sessions.FAILED: FAILED,
    CANCELLED: FAILED,
    sessions.ESCALATED: NEEDS_PERSON,
    sessions.LIMIT: LIMIT,
    sessions.STOPPED: INTERRUPTED,
}
STYLES = {
    sessions.COMPLETED: "green",
    sessions.LIMIT: "yellow",
    sessions.STOPPED: "yellow",
}


def tell_end(
    args: Namespace, known: Facts, ended: dict[str, Any] | None, help: str | None = None
) -> int:
    """Tell how a session ended, or that it only rests, with help for that; the exit code."""
    if not known.is_over and known.status not in EXITS:
        with spoken(sys.stdout, sys.stderr):
            _tell_rest(args, known, help)
        return NEEDS_PERSON if known.status == PARKED else OK
    outcome = known.status if known.status in EXITS else sessions.FAILED
    if ended is None or ended["outcome"] != outcome:  # it broke: no ending was written
        reason = known.reason or ("by a person" if outcome == CANCELLED else "its run broke")
        ended = {"outcome": outcome, "reason": reason, "iterations": known.iteration}
    with spoken(sys.stdout, sys.stderr):
        if args.json:
            say_json({"type": "session_ended", "data": ended})
        else:
            _tell(known, ended)
    return EXITS[outcome]


def parked_help(view: View, known: Facts) -> str | None:
    """What has to be done before a session that is parked can go on."""
    events = view.log.events(node_id=known.run_id, types=("run_parked",))
    return events[-1].data.get("help") if events and known.status == PARKED else None


def _tell_rest(args: Namespace, known: Facts, help: str | None) -> None:
    """The process ends, the session does not."""
    if not args.json:
        why = f": {untrusted(known.reason)}" if known.reason else ""
        note(f"{untrusted(known.name)} is {known.status}{why}")
        first = f"{untrusted(help).removesuffix(' and start again')}; then " if help else ""
        note(f"{first}go on with `{resume_command(known)}`")


def _tell(known: Facts, ended: dict[str, Any]) -> None:
    outcome = ended["outcome"]
    count = plural(ended["iterations"], "iteration")
    why = untrusted(str(ended.get("message") or ended["reason"]), 500)
    word = sessions.told_as(outcome, ended["reason"])
    say(f"{paint(word, STYLES.get(word, 'red'))} after {count}: {why}")
    if outcome == sessions.COMPLETED and known.branch is not None:
        note(f"its gates come next: hookline submit {known.task_id}")
    elif outcome == sessions.LIMIT or (
        outcome == sessions.STOPPED and not ended.get("taskSettled")
    ):
        first = "see to the agent, then " if word == sessions.FAILED else ""
        note(f"{first}go on with `{resume_command(known)}`")
    elif outcome in (sessions.FAILED, CANCELLED) and not ended.get("taskSettled"):
        note(f"it cannot go on; {known.task_id} can: hookline run --task {known.task_id}")
    elif outcome == sessions.ESCALATED:
        note(f"{known.task_id} is blocked; see to it, then `{resume_command(known)}`")
    if error := ended.get("taskError"):
        note(f"{known.task_id} is as it was: {untrusted(error)}")
    if unheard := ended.get("unheard"):
        note(f"{plural(unheard, 'message')} {'was' if unheard == 1 else 'were'} not heard")
    name = untrusted(shlex.quote(known.name))
    next_step(f"hookline session report {name}", "the whole story as one page")
