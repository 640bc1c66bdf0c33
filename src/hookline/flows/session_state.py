"""What a session keeps: its plan, its state, and what a turn and its judgement came to."""

from __future__ import annotations

from typing import Any

import msgspec

from hookline.domain.limits import Progress

PINS = "session"
# A claim is renewed in each iteration; it outlasts the longest turn by so much.
LEASE_MARGIN = 3600.0


class Plan(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """What a chapter of a session keeps of the configuration.

    `own_stop` is whether it configures stop hooks, for whomever.
    """

    points: list[str] = []
    limits: dict[str, Any] = {}
    rules: list[dict[str, Any]] = []
    template: str | None = None
    roles: dict[str, str] = {}
    plan: bool = False
    conversation: str = "fresh"
    turn_timeout: float = 3600.0
    model_wait: float = 60.0
    evidence: bool = False
    own_stop: bool = False


class State(msgspec.Struct, rename="camel", kw_only=True):
    """What one iteration hands to the next."""

    iteration: int = 1
    progress: Progress = msgspec.field(default_factory=Progress)
    turns: int = 0
    conversation: str | None = None
    next_prompt: str | None = None
    sent_back: str = ""
    asked: bool = False
    messages: list[str] = []
    held: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    base: str | None = None
    limits: dict[str, Any] = {}
    is_started: bool = False


class Turn(msgspec.Struct, rename="camel", kw_only=True):
    """A turn as the journal holds it; unknown fields are ignored.

    `last_words` is what the agent answered to deliveries after it; `recovered_from` is how the
    turn had failed that this one continues.
    """

    text: str = ""
    last_words: str = ""
    error: str | None = None
    conversation: str | None = None
    interrupted: bool = False
    by: str | None = None
    begun: bool = True
    usage: dict[str, Any] = {}
    tools: int = 0
    wait: dict[str, Any] | None = None
    files_modified: list[str] = []
    fingerprint: str | None = None
    promised: list[dict[str, Any]] = []
    recovered_from: str | None = None

    def continued_by(self, other: Turn) -> Turn:
        """The turn that recovered this one, which failed: what that says counts, not this."""
        return msgspec.structs.replace(
            other,
            conversation=other.conversation or self.conversation,
            tools=self.tools + other.tools,
            files_modified=sorted({*self.files_modified, *other.files_modified}),
            recovered_from=self.failure,
        )

    @property
    def failure(self) -> str | None:
        """Why the turn counts as failed."""
        return self.error or ("the agent was interrupted" if self.interrupted else None)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
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

    def undone(self, reason: str) -> Verdict:
        """The same verdict, but the work is not done."""
        if not self.is_complete:
            return self
        decision = {**self.decision, "action": "continue", "reason": reason, "hookId": None}
        return msgspec.structs.replace(self, decision=decision)

    @property
    def is_complete(self) -> bool:
        """The work is done."""
        return bool(self.decision.get("action") == "complete")

    @property
    def goes_on(self) -> bool:
        """Nobody wants the loop to end."""
        return bool(self.decision.get("action", "continue") == "continue")
