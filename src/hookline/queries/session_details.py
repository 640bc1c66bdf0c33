"""What a session has done and used, and what it or its agent has not received yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.sessions import limits
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import Progress, SessionLimits
from hookline.domain.sessions.model import STANDING, HeldOutput
from hookline.flows import journal
from hookline.queries.pruned import pruned_at
from hookline.queries.sessions import facts, last_beginning
from hookline.sessions.spending import limits_of

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Blobs, View


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


def endings(view: View, run_id: str) -> list[EndedIteration]:
    """The result of each iteration of a session."""
    events = view.log.events(node_id=run_id, types=("session_iteration_ended",))
    data = [{**event.data, "timestamp": event.timestamp} for event in events]
    return typed.convert(data, list[EndedIteration])


def last_iteration(view: View, run_id: str) -> EndedIteration | None:
    """The result of the newest iteration that is over."""
    event = view.log.latest(run_id, ("session_iteration_ended",))
    return typed.convert(event.data, EndedIteration) if event is not None else None


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
        allowed = typed.convert(limits_of(view.runs.find(run_id)), SessionLimits)
        return [UsedLimit(*each) for each in limits.countdown(allowed, Progress())]
    found = typed.convert(begun.data["countdown"], list[UsedLimit])
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
