"""How a session ended, or why it rests, with the exit code of the command that waited for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.sessions import model as sessions
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, OK
from hookline.queries.sessions import CANCELLED, PARKED

if TYPE_CHECKING:
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts

EXITS = {
    sessions.COMPLETED: OK,
    sessions.FAILED: FAILED,
    CANCELLED: FAILED,
    sessions.ESCALATED: NEEDS_PERSON,
    sessions.LIMIT: LIMIT,
    sessions.STOPPED: INTERRUPTED,
}


class SessionExit(NamedTuple):
    """The exit code, and the data of `session_ended`; None if the session only rests."""

    exit_code: int
    data: dict[str, Any] | None


def session_end(known: SessionFacts, written: dict[str, Any] | None) -> SessionExit:
    """How a session ended; `written` is the last ending in its log."""
    if not known.is_over and known.status not in EXITS:
        return SessionExit(NEEDS_PERSON if known.status == PARKED else OK, None)
    outcome = known.status if known.status in EXITS else sessions.FAILED
    ended = written
    if ended is None or ended["outcome"] != outcome:  # it broke: no ending was written
        reason = known.reason or ("by a person" if outcome == CANCELLED else "its run failed")
        ended = {"outcome": outcome, "reason": reason, "iterations": known.iteration}
    if outcome == sessions.COMPLETED and (ended.get("taskHeld") or ended.get("taskError")):
        return SessionExit(NEEDS_PERSON, ended)  # what was done is not taken for it
    return SessionExit(OK if ended.get("waitsFor") else EXITS[outcome], ended)


def parked_help(view: View, known: SessionFacts) -> str | None:
    """What has to be done before a session that is parked can continue."""
    events = view.log.events(node_id=known.run_id, types=("run_parked",))
    return events[-1].data.get("help") if events and known.status == PARKED else None
