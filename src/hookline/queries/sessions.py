"""What is known about a session: its status, how it ended, and what to type next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.hooks.answers import BESIDE
from hookline.domain.runs import model as runs
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import raised
from hookline.domain.sessions.model import STANDING, UnknownSession
from hookline.domain.sessions.turns import AgentProblem
from hookline.domain.text.display import untrusted
from hookline.domain.text.excerpts import first_few
from hookline.domain.timestamps import iso
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, OK, BadInput
from hookline.sessions.names import all_sessions, find
from hookline.sessions.starting import session_on
from hookline.tasks.task_runs import live_sessions
from hookline.wiring.running.hosts import is_held, is_of_another_boot, owner_pid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

# Why a session is paused whose agent has planned and not begun.
PLANNED = "its plan waits to be started"
# Why a session was killed with everything else.
REBOOTED = "the machine was restarted"
# Commands whose verb is shorter than `hookline session VERB`.
_COMMANDS = {"watch": "hookline attach", "stop": "hookline stop"}
# Of several sessions that can be meant.
MOST_NAMED = 8
RUNNING, WAITING, PARKED = "running", "waiting", "parked"
PAUSED, KILLED, CANCELLED = "paused", "killed", "cancelled"
OVER = frozenset({sessions.COMPLETED, sessions.FAILED, CANCELLED})


class SessionFacts(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """A session as every command shows it; `used` is how much of its `limit` is used.

    `problem` is why its agent cannot work until a person has repaired something, `beside` the
    session whose change cannot be told from its own. One that is `planned` is paused until a person
    starts the plan that its agent has made.
    """

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
    problem: AgentProblem | None = None
    beside: str | None = None
    planned: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether it is running, or will continue without help."""
        return self.status in (RUNNING, WAITING)

    @property
    def is_over(self) -> bool:
        """Whether it cannot be resumed."""
        return self.status in OVER


def facts(view: View, run: Run) -> SessionFacts:
    """The current facts of a session."""
    given = run.input
    status, more = _status(view, run)
    return SessionFacts(
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


def known_session(view: View, name: str | None, verb: str) -> SessionFacts:
    """The session of a name; without one, the only one that is alive, else the newest."""
    if name is not None:
        return facts(view, find(view, name))
    live = [facts(view, run) for run in live_sessions(view)]
    alive = [each for each in live if each.is_alive]
    if len(alive) > 1:
        command = _COMMANDS.get(verb, f"hookline session {verb}")
        ways = [f"{command} {untrusted(shlex.quote(each.name))}" for each in alive]
        raise several(f"{len(alive)} sessions are at work", ways)
    newest = next(all_sessions(view), None)
    if newest is None:
        help = 'start one: hookline run "what the agent should do"'
        raise UnknownSession(f"there is no session to {verb}", help=help)
    return alive[0] if alive else facts(view, newest)


def accept_command(known: SessionFacts) -> str | None:
    """What to type where only a person can tell that a session's work is done; else None."""
    if known.status != sessions.ESCALATED or known.beside is None:
        return None
    task = known.task_id
    return f"hookline task unblock {task} && hookline task complete {task}"


def several(why: str, commands: Sequence[str]) -> BadInput:
    """The error where any of several sessions can be meant, with the command for each."""
    ways = first_few([f"`{each}`" for each in commands], MOST_NAMED, ", or ")
    return BadInput(why, help=f"name one: {ways}")


def _status(view: View, run: Run) -> tuple[str, Mapping[str, Any]]:
    if run.status == runs.FAILED:
        return sessions.FAILED, {"reason": run.error}
    if run.status == runs.CANCELLED:
        return CANCELLED, {"reason": run.reason}
    holder, _, until = view.runs.leases.holder(run.run_id)
    status = view.runs.value(run.run_id, STANDING)
    if status not in (sessions.LIVE, sessions.PAUSED):
        return str(status), _ending(view, run)
    if is_held(view, holder, until):
        assert holder is not None
        return RUNNING, {"pid": owner_pid(holder)}
    if status == sessions.PAUSED or run.status == runs.PAUSED:
        return PAUSED, _pause(view, run)
    if run.status == runs.RUNNING:
        return KILLED, _how_killed(view, holder)
    if run.wake_at is not None:
        return WAITING, {"until": iso(run.wake_at), "reason": _wait(view, run)}
    return PARKED, {"reason": run.reason}


def _how_killed(view: View, holder: str | None) -> Mapping[str, Any]:
    if holder is None or not is_of_another_boot(holder):
        return {}
    lost = next((each.host for each in view.hosts.processes() if each.owner == holder), None)
    return {
        "reason": REBOOTED if lost is None else f"the host {lost} has not been heard from since"
    }


def _ending(view: View, run: Run) -> Mapping[str, Any]:
    ended = view.log.latest(run.run_id, ("session_ended",))
    if ended is None:
        return {}
    limit = ended.data["reason"] if ended.data["outcome"] == sessions.LIMIT else None
    used, reason = ended.data.get("used", {}).get(limit), ended.data["message"]
    told = {"reason": reason, "limit": limit, "used": used, "since": ended.timestamp}
    if (beside := ended.data.get(BESIDE)) is not None:
        told["beside"] = beside
    if (problem := ended.data.get("problem")) is not None:
        told["problem"] = typed.convert(problem, AgentProblem)
    return told


def _pause(view: View, run: Run) -> Mapping[str, Any]:
    paused = view.log.latest(run.run_id, ("session_paused",))
    if paused is None or not paused.data.get("planned"):
        return {}
    return {"planned": True, "reason": PLANNED, "since": paused.timestamp}


def unstarted_plan(view: View, task: Task) -> SessionFacts | None:
    """The session whose plan a task is part of, while that plan is not started."""
    parent = task.parent_task_id
    while parent is not None:
        run = session_on(view, parent)
        known = facts(view, run) if run is not None else None
        if known is not None and known.planned:
            return known
        above = view.graph.find(parent)
        parent = above.parent_task_id if above is not None else None
    return None


def _wait(view: View, run: Run) -> str | None:
    waits = view.log.latest(run.run_id, ("session_waits",))
    return waits.data["reason"] if waits else None


def last_ending(view: View, run_id: str) -> dict[str, Any] | None:
    """How a session ended, the last time that it did."""
    ended = view.log.latest(run_id, ("session_ended",))
    return ended.data if ended else None


def _iteration(view: View, run: Run) -> int:
    begun = last_beginning(view, run.run_id)
    return int(begun.data["iteration"]) if begun else 0


def last_beginning(view: View, run_id: str) -> Event | None:
    """Where the newest iteration of a session began."""
    return view.log.latest(run_id, ("session_iteration",))


def next_command(known: SessionFacts) -> str:
    """The most useful thing to type next."""
    name = untrusted(shlex.quote(known.name))
    if known.is_alive:
        return f"hookline session attach {name}"
    if known.is_over:
        return f"hookline session report {name}"
    return resume_command(known)


def resume_command(known: SessionFacts) -> str:
    """What to type to resume a session: a budget that it used up is raised.

    One that needs a person would only ask again, so it is answered first, or its agent repaired.
    """
    more, name = raised(known.limit, known.used), untrusted(shlex.quote(known.name))
    first = ""
    if known.problem is not None:
        first = f"{untrusted(known.problem.command)} && " if known.problem.command else ""
    elif known.status == sessions.ESCALATED:
        first = f'hookline session message {name} "YOUR ANSWER" && '
    return f"{first}hookline run --resume --name {name}{more}"


# How it ended

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
