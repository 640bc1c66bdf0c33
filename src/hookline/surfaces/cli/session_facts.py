"""What is known of a session from outside: its status, who runs it, what it used."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.identity import owner_is_gone, owner_pid
from hookline.domain import runs, sessions
from hookline.domain.limits import raised
from hookline.domain.moments import iso
from hookline.domain.sessions import STANDING, UnknownSession
from hookline.surfaces.cli.output import untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.events import Event
    from hookline.domain.runs import Run
    from hookline.ports.store import View

EVERY = 1_000_000
# Why a session rests whose agent has planned and not begun.
PLANNED = "its plan waits to be started"
RUNNING, WAITING, PARKED, PAUSED, KILLED, CANCELLED = (
    "running",
    "waiting",
    "parked",
    "paused",
    "killed",
    "cancelled",
)
OVER = frozenset({sessions.COMPLETED, sessions.FAILED, CANCELLED})


class Facts(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """A session as every command shows it; `used` is how much of its `limit` is used."""

    run_id: str
    name: str
    status: str
    goal: str
    task_id: str
    agent: str | None
    iteration: int
    created_at: str | None
    branch: str | None = None
    pid: int | None = None
    until: str | None = None
    reason: str | None = None
    limit: str | None = None
    used: float | None = None
    since: str | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it goes on, or will by itself."""
        return self.status in (RUNNING, WAITING)

    @property
    def is_over(self) -> bool:
        """Whether nobody can go on with it."""
        return self.status in OVER


def facts(view: View, run: Run) -> Facts:
    """A session as it stands."""
    given = run.input
    status, more = _status(view, run)
    return Facts(
        run_id=run.run_id,
        name=given["name"],
        status=status,
        goal=given["goal"],
        task_id=given["taskId"],
        agent=given.get("agent"),
        iteration=_iteration(view, run),
        created_at=run.created_at,
        branch=given.get("branch"),
        **more,
    )


def _status(view: View, run: Run) -> tuple[str, dict[str, Any]]:
    if run.status == runs.FAILED:
        return sessions.FAILED, {"reason": run.error}
    if run.status == runs.CANCELLED:
        return CANCELLED, {"reason": run.reason}
    holder, _, until = view.runs.holder(run.run_id)
    standing = view.runs.value(run.run_id, STANDING)
    if standing not in (sessions.LIVE, sessions.PAUSED):
        return str(standing), _ending(view, run)
    if is_held(holder, until):
        assert holder is not None
        return RUNNING, {"pid": owner_pid(holder)}
    if standing == sessions.PAUSED or run.status == runs.PAUSED:
        return PAUSED, _pause(view, run)
    if run.status == runs.RUNNING:
        return KILLED, {}
    if run.wake_at is not None:
        return WAITING, {"until": iso(run.wake_at), "reason": _wait(view, run)}
    return PARKED, {"reason": run.reason}


def is_held(holder: str | None, until: float) -> bool:
    """Whether a living process advances a run."""
    return holder is not None and until >= time.time() and not owner_is_gone(holder)


def _ending(view: View, run: Run) -> dict[str, Any]:
    events = view.log.events(node_id=run.run_id, types=("session_ended",))
    if not events:
        return {}
    data = events[-1].data
    limit = data["reason"] if data["outcome"] == sessions.LIMIT else None
    used = data.get("used", {}).get(limit)
    since = events[-1].timestamp
    return {"reason": data["message"], "limit": limit, "used": used, "since": since}


def _pause(view: View, run: Run) -> dict[str, Any]:
    events = view.log.events(node_id=run.run_id, types=("session_paused",))
    is_planned = bool(events) and events[-1].data.get("planned")
    return {"reason": PLANNED, "since": events[-1].timestamp} if is_planned else {}


def _wait(view: View, run: Run) -> str | None:
    events = view.log.events(node_id=run.run_id, types=("session_waits",))
    return events[-1].data["reason"] if events else None


def last_ending(view: View, run_id: str) -> dict[str, Any] | None:
    """How a session ended, the last time that it did."""
    events = view.log.events(node_id=run_id, types=("session_ended",))
    return events[-1].data if events else None


def _iteration(view: View, run: Run) -> int:
    begun = beginnings(view, run.run_id)
    return int(begun[-1].data["iteration"]) if begun else 0


def beginnings(view: View, run_id: str) -> list[Event]:
    """Where each iteration of a session began."""
    return view.log.events(node_id=run_id, types=("session_iteration",))


def endings(view: View, run_id: str) -> list[dict[str, Any]]:
    """What came of each iteration of a session."""
    events = view.log.events(node_id=run_id, types=("session_iteration_ended",))
    return [{**event.data, "timestamp": event.timestamp} for event in events]


def spent(view: View, run_id: str) -> tuple[float, int]:
    """Money and tokens of the iterations that are over."""
    ended = endings(view, run_id)
    return sum(each["usd"] for each in ended), sum(each["tokens"] for each in ended)


def countdown(view: View, run_id: str) -> list[dict[str, Any]]:
    """How much of each limit is used; of guards, as of the last iteration's begin."""
    begun, ended = beginnings(view, run_id), endings(view, run_id)
    usd, tokens = spent(view, run_id)
    # An iteration that was cut short and made again is one.
    iterations = len({each["iteration"] for each in ended if each["iteration"]})
    made = {"iterations": iterations, "usd": usd, "tokens": tokens}
    found: list[dict[str, Any]] = begun[-1].data["countdown"] if begun else []
    return [{**each, "used": made.get(each["name"], each["used"])} for each in found]


def next_command(known: Facts) -> str:
    """The most useful thing to type next."""
    name = untrusted(shlex.quote(known.name))
    if known.is_alive:
        return f"hookline session attach {name}"
    if known.is_over:
        return f"hookline session report {name}"
    return resume_command(known)


def resume_command(known: Facts) -> str:
    """What to type to go on with a session: a budget that it used up is raised.

    One that needs a person would only ask again, so it is answered first.
    """
    more, name = raised(known.limit, known.used), untrusted(shlex.quote(known.name))
    answer = ""
    if known.status == sessions.ESCALATED:
        answer = f'hookline session message {name} "YOUR ANSWER" && '
    return f"{answer}hookline run --resume --name {name}{more}"


# Which session is meant


def all_sessions(view: View) -> Iterator[Run]:
    """Every session, the newest first."""
    return (view.runs.find(run_id) for run_id in view.sessions.newest(EVERY))


def find(view: View, name: str) -> Run:
    """A session by its name or its run's; of several, the newest that is not over."""
    called = [run for run in all_sessions(view) if name in (run.input["name"], run.run_id)]
    if not called:
        raise UnknownSession(f"there is no session '{untrusted(name, 80)}'{_near(view, name)}")
    return next((run for run in called if run.status not in runs.TERMINAL), called[0])


def _near(view: View, name: str) -> str:
    from difflib import get_close_matches  # only a wrong name needs it

    known = [run.input["name"] for run in all_sessions(view)]
    near = get_close_matches(name, known, n=1)
    return f"; did you mean '{untrusted(near[0], 80)}'?" if near else ""
