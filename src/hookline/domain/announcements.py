"""What people were told: each thing that waits for them is announced once, and once it is over.

The log has an event for both. What is announced and not over folds from these events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.points import NOTIFYING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.events import Event

NEEDED, OVER = NOTIFYING
# After these something may begin to wait for a person, a session ends, or a limit may be near.
BEGINNINGS = frozenset(
    "session_ended session_paused session_iteration run_parked run_completed run_failed"
    " run_cancelled effect_requested task_blocked task_needs_continuation task_submitted"
    " submission_started task_ready hook_error action_error".split()
)
# The part of a limit after which it is near.
NEAR = 0.8


class Announced(NamedTuple):
    """Something that was announced and is not over: its event, and the task or run it is about."""

    seq: int
    node_id: str


def may_begin(event: Event) -> bool:
    """Whether an event can make something wait for a person."""
    if event.type == "effect_requested":
        return bool(event.data.get("kind") == "breakpoint")
    return event.type in BEGINNINGS


def fold(known: dict[str, Announced], event: Event) -> None:
    """Apply one event to what is announced; other types change nothing."""
    if event.type == NEEDED and event.data["waits"]:
        known[event.data["key"]] = Announced(event.seq, event.node_id)
    elif event.type == OVER:
        known.pop(event.data["key"], None)


def near(countdown: list[Mapping[str, Any]], names: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The limits of these names of which most is used."""
    return [
        each
        for each in countdown
        if each["name"] in names and each["used"] >= NEAR * each["allowed"]
    ]
