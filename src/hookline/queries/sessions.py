"""What is known about a session: its status, who runs it, what it used."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.hooks.answers import BESIDE
from hookline.domain.runs import model as runs
from hookline.domain.sessions import limits
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import Progress, SessionLimits, raised
from hookline.domain.sessions.model import STANDING, HeldOutput, UnknownSession
from hookline.domain.sessions.turns import AgentProblem
from hookline.domain.text.display import untrusted
from hookline.domain.text.excerpts import first_few
from hookline.domain.timestamps import iso
from hookline.errors import BadInput
from hookline.flows import journal
from hookline.queries.pruned import pruned_at
from hookline.sessions.names import all_sessions, find
from hookline.sessions.spending import limits_of
from hookline.sessions.starting import session_on
from hookline.tasks.task_runs import live_sessions
from hookline.wiring.running.hosts import is_held, is_of_another_boot, owner_pid

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import Blobs, View

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


class UsedLimit(msgspec.Struct, frozen=True):
    """How much of a limit is used."""

    name: str
    used: float | int
    allowed: float | int


class EndedIteration(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The result of an iteration."""

    iteration: int | None = None
    status: str = ""
    error: str | None = None
    text: str = ""
    files_modified: list[str] = []
    tools: int = 0
    passed: int = 0
    rules: int = 0
    decision: str | None = None
    reason: str | None = None
    hook: str | None = None
    usd: float = 0.0
    tokens: int = 0
    timestamp: str = ""


class HeldText(msgspec.Struct, rename="camel", frozen=True):
    """What is held for the next prompt of a session."""

    point: str
    hook: str
    event_seq: int
    bytes: int
    text: str


class SessionDetails(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """How far a session has come, and what it or its agent has not received yet.

    `pruned` is when a person had its details removed.
    """

    countdown: list[UsedLimit]
    usd: float
    tokens: int
    history: list[EndedIteration]
    held: list[HeldText]
    messages: list[str]
    wants: str | None
    failed_checks: list[Mapping[str, Any]]
    pruned: str | None


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
    return {"reason": REBOOTED if lost is None else f"the host {lost} was not heard of any more"}


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
        told["problem"] = msgspec.convert(problem, AgentProblem)
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


def endings(view: View, run_id: str) -> list[EndedIteration]:
    """The result of each iteration of a session."""
    events = view.log.events(node_id=run_id, types=("session_iteration_ended",))
    data = [{**event.data, "timestamp": event.timestamp} for event in events]
    return msgspec.convert(data, list[EndedIteration])


def last_iteration(view: View, run_id: str) -> EndedIteration | None:
    """The result of the newest iteration that is over."""
    event = view.log.latest(run_id, ("session_iteration_ended",))
    return msgspec.convert(event.data, EndedIteration) if event is not None else None


def spent(ended: Sequence[EndedIteration]) -> tuple[float, int]:
    """Money and tokens of the iterations that are over."""
    return sum(each.usd for each in ended), sum(each.tokens for each in ended)


def countdown(view: View, run_id: str, ended: Sequence[EndedIteration]) -> list[UsedLimit]:
    """How much of each limit is used; of guards, as of the last iteration's begin."""
    begun = last_beginning(view, run_id)
    usd, tokens = spent(ended)
    # An iteration that was interrupted and made again counts once, and at rest not yet.
    iterations = len({each.iteration for each in ended if each.iteration})
    made = {"iterations": iterations, "usd": usd, "tokens": tokens}
    at_rest = used_at_rest(view, run_id)
    made |= {name: at_rest[name] for name in ("iterations", "minutes") if name in at_rest}
    if begun is None:
        allowed = msgspec.convert(limits_of(view.runs.find(run_id)), SessionLimits)
        return [UsedLimit(*each) for each in limits.countdown(allowed, Progress())]
    found = msgspec.convert(begun.data["countdown"], list[UsedLimit])
    return [UsedLimit(each.name, made.get(each.name, each.used), each.allowed) for each in found]


def used_at_rest(view: View, run_id: str) -> Mapping[str, float]:
    """What a session that rests has used of its budgets; empty while it works."""
    types = ("session_ended", "session_paused", "session_iteration")
    last = view.log.latest(run_id, types)
    return last.data.get("used", {}) if last is not None else {}


def session_details(view: View, run: Run, blobs: Blobs) -> SessionDetails:
    """Everything that is known about one session besides its facts."""
    ended = endings(view, run.run_id)
    usd, tokens = spent(ended)
    is_over = facts(view, run).is_over
    return SessionDetails(
        countdown=countdown(view, run.run_id, ended),
        usd=usd,
        tokens=tokens,
        history=ended,
        held=[_held_text(each) for each in view.sessions.held(run.run_id)],
        messages=[] if is_over else _messages(view, run),
        wants=None if is_over else _wanted(view, run),
        failed_checks=last_checks(view, run, blobs).failed,
        pruned=pruned_at(view, run.run_id),
    )


def _held_text(held: HeldOutput) -> HeldText:
    size = len(held.text.encode("utf-8", "replace"))
    return HeldText(held.point, held.hook, held.event_seq, size, held.text)


def _wanted(view: View, run: Run) -> str | None:
    """A person's request to stop or pause that the session has not received yet."""
    verbs = [value["verb"] for _, name, value in view.runs.signals(run) if name == sessions.SIGNAL]
    return next((verb for verb in ("stop", "pause") if verb in verbs), None)


def _messages(view: View, run: Run) -> list[str]:
    """Messages of people since the last iteration began, whose prompt had all earlier ones."""
    begun = last_beginning(view, run.run_id)
    after = begun.seq if begun else 0
    events = view.log.events(node_id=run.run_id, types=("run_signalled",), after=after)
    sent = [each.data["value"] for each in events if each.data["name"] == sessions.SIGNAL]
    return [value["text"] for value in sent if value["verb"] == "message"]


class LastChecks(NamedTuple):
    """When the work was last validated, what each rule found, and what the files were then."""

    at: str | None
    results: Sequence[Mapping[str, Any]]
    tree: str | None = None

    @property
    def failed(self) -> list[Mapping[str, Any]]:
        """What failed."""
        return [each for each in self.results if not each["passed"]]


def last_checks(view: View, run: Run, blobs: Blobs) -> LastChecks:
    """The last validation of the work; without results if the agent has worked since.

    An agent that is told something after its work was complete is checked again if it edits files.
    """
    is_complete = view.runs.value(run.run_id, STANDING) == sessions.COMPLETED
    kinds = ("validate",) if is_complete else ("agent", "validate")
    for chapter in range(run.chapter, 0, -1):
        effects = view.runs.effects(msgspec.structs.replace(run, chapter=chapter))
        last = next((e for e in reversed(effects) if e.kind in kinds), None)
        if last is not None:
            value = journal.shown(last.value, blobs) if last.kind == "validate" else {}
            work = (value or {}).get("work") or {}
            return LastChecks(last.resolved_at, (value or {}).get("results", ()), work.get("tree"))
    return LastChecks(None, ())


def session_trees(view: View, run: Run, blobs: Blobs) -> tuple[str | None, str | None]:
    """The files as a session found them, and as it last had them checked, as far as it kept them.

    Only one whose stop hooks compare files does.
    """
    first = view.runs.effects(msgspec.structs.replace(run, chapter=1))
    base = next((e.value for e in first if e.kind == "work" and isinstance(e.value, dict)), {})
    known = (run.state or {}).get("base") or base.get("tree")
    return known, last_checks(view, run, blobs).tree


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
