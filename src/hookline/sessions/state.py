"""What a session keeps: its plan, its state, and the results of a turn and its evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from hookline import typed
from hookline.domain.payloads import CompletionPromise
from hookline.domain.sessions.limits import BUDGETS, Progress, SessionLimits
from hookline.domain.sessions.model import FLOW, SessionInput
from hookline.domain.sessions.turns import AgentProblem, ModelWait, Unpaid
from hookline.sessions.requests import Amounts, Inbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.runs.model import Run

PINS = "session"
# A claim is renewed in each iteration, and outlasts the longest turn by this much.
LEASE_MARGIN = 3600.0


class Plan(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """What a chapter of a session keeps of the configuration.

    `evidence` is whether a stop hook looks at what changed since the work began.
    """

    points: list[str] = []
    limits: dict[str, bool | int | float | None] = {}
    rules: list[dict[str, Any]] = []
    template: str | None = None
    roles: dict[str, str] = {}
    plan: bool = False
    conversation: str = "fresh"
    turn_timeout: float = 3600.0
    model_wait: float = 60.0
    evidence: bool = False


class PastIteration(TypedDict):
    """An iteration in a line, for the prompts after it."""

    iteration: int
    line: str


class State(msgspec.Struct, rename="camel", kw_only=True):
    """What one iteration passes to the next."""

    iteration: int = 1
    progress: Progress = msgspec.field(default_factory=Progress)
    turns: int = 0
    conversation: str | None = None
    next_prompt: str | None = None
    sent_back: str = ""
    asked: bool = False
    messages: list[str] = []
    held: list[Any] = []
    history: list[PastIteration] = []
    base: str | None = None
    limits: Amounts = {}
    is_started: bool = False
    is_planned: bool = False
    is_untouched: bool = False


class Turn(msgspec.Struct, rename="camel", kw_only=True):
    """A turn as the journal holds it; unknown fields are ignored.

    `last_words` is what the agent answered to deliveries after it; `recovered_from` is why the turn
    that this one continues had failed.
    """

    text: str = ""
    last_words: str = ""
    error: str | None = None
    conversation: str | None = None
    interrupted: bool = False
    by: str | None = None
    begun: bool = True
    tools: int = 0
    wait: ModelWait | None = None
    files_modified: list[str] = []
    fingerprint: str | None = None
    promised: list[CompletionPromise] = []
    git_changed: list[str] = []
    recovered_from: str | None = None
    unpaid: Unpaid | None = None
    problem: AgentProblem | None = None

    def continued_by(self, other: Turn) -> Turn:
        """This failed turn, replaced by the one that recovered it."""
        return msgspec.structs.replace(
            other,
            conversation=other.conversation or self.conversation,
            tools=self.tools + other.tools,
            files_modified=sorted({*self.files_modified, *other.files_modified}),
            recovered_from=self.failure,
        )

    @property
    def counts(self) -> bool:
        """Whether it is one of the task's turns: one whose agent could not even begin is not."""
        return self.begun and (self.problem is None or bool(self.tools or self.text))

    @property
    def failure(self) -> str | None:
        """Why the turn counts as failed."""
        return self.error or ("the agent was interrupted" if self.interrupted else None)


class TurnVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the stop hooks decided, on what was said and what validation found.

    Nothing was said, found or decided where the turn failed.
    """

    said: Turn = msgspec.field(default_factory=Turn)
    checked: dict[str, Any] | None = None
    decision: dict[str, Any] = {}

    @property
    def results(self) -> list[dict[str, Any]]:
        """What each validation rule found."""
        return list((self.checked or {}).get("results", ()))

    def undone(self, reason: str, action: str = "continue") -> TurnVerdict:
        """The same verdict, but the work is not done."""
        if not self.is_complete:
            return self
        decision = {**self.decision, "action": action, "reason": reason, "hookId": None}
        return msgspec.structs.replace(self, decision=decision)

    @property
    def is_complete(self) -> bool:
        """The work is done."""
        return bool(self.decision.get("action") == "complete")

    @property
    def goes_on(self) -> bool:
        """No one wants the loop to end."""
        return bool(self.decision.get("action", "continue") == "continue")


class Chapter:
    """What a session was asked to do, and its status."""

    def __init__(self, given: SessionInput, plan: Plan, state: State | None) -> None:
        self.given, self.plan = given, plan
        plans = given.plan or (plan.plan and not given.part)
        self.state = state or State(iteration=0 if plans else 1, is_untouched=True)

    def note(self, turn: Turn) -> None:
        """Count a turn, and whether it touched a file; one that was cut may have."""
        self.state.turns += turn.counts
        if turn.begun and (turn.files_modified or turn.fingerprint is None):
            self.state.is_untouched = False

    def own_work(self, work: dict[str, Any] | None) -> dict[str, Any] | None:
        """The work as stop hooks see it; what only checks and hooks left behind is none."""
        if work is None or not self.state.is_untouched:
            return work
        return {**work, "diffHash": None, "changedFiles": 0}

    def payload(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """What hooks of the session see."""
        given = self.given
        return {
            "session": given.name,
            "iteration": self.state.iteration,
            "agent": given.agent,
            "taskId": given.task_id,
            "taskContent": given.goal,
            **({"worktree": given.worktree} if given.worktree is not None else {}),
            **more,
        }

    @property
    def identity(self) -> dict[str, str | int]:
        """The session as its programs know it."""
        given = self.given
        return {"name": given.name, "iteration": self.state.iteration, "task": given.task_id}

    @property
    def limits(self) -> SessionLimits:
        """The limits that end it."""
        given = {**self.plan.limits, **self.given.limits, **self.state.limits}
        return typed.convert(given, SessionLimits)

    @property
    def lease(self) -> float:
        """How long its task is held in one iteration."""
        return self.plan.turn_timeout + LEASE_MARGIN

    @property
    def is_last(self) -> bool:
        """Whether the iteration limit is reached with this iteration."""
        most = self.limits.iterations
        return bool(most) and self.state.progress.iterations + 1 >= (most or 0)

    def time_left(self) -> float:
        """How many seconds a turn may take."""
        minutes = self.limits.minutes
        if not minutes:
            return self.plan.turn_timeout
        left = (minutes - self.state.progress.minutes) * 60
        return max(1.0, min(self.plan.turn_timeout, left))

    @property
    def used(self) -> Amounts:
        """What it has used of its budgets."""
        return {name: getattr(self.state.progress, name) for name in BUDGETS}


class PersonRequests:
    """What people asked for so far: to stop or pause, other limits, and their messages."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.asked_to: str | None = None
        self.stopped_by: str | None = None
        self.is_cut = False

    def note_cut(self, found: Mapping[str, Any]) -> None:
        """After an interruption by a person, nothing else begins in this iteration."""
        self.is_cut = self.is_cut or found.get("by") == "person"

    def note(self, found: Inbox) -> None:
        """What has come in since it was last looked at."""
        self._state.messages = [*self._state.messages, *found["messages"]]
        self.asked_to = found["wants"] or self.asked_to
        self.stopped_by = found.get("why") or self.stopped_by
        self._state.limits |= found.get("limits") or {}

    def hear(self, wish: Mapping[str, Any]) -> None:
        """One thing that a person wants."""
        if wish["verb"] == "message":
            self._state.messages = [*self._state.messages, wish["text"]]
        elif wish["verb"] in ("stop", "pause"):
            self.asked_to = wish["verb"]
            self.stopped_by = wish.get("reason") or self.stopped_by
        elif wish["verb"] == "resume":
            self._state.limits |= wish.get("limits") or {}


def origin_of(run: Run) -> dict[str, Any]:
    """What the events of a run say about its session, if it is one."""
    if run.flow != FLOW:
        return {}
    return {"session": run.input["name"], "iteration": (run.state or {}).get("iteration", 1)}
