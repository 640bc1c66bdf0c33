"""Events: what happened, in the words that go over the wire.

The log is the truth. Types in `STATE_BEARING` change the task graph when they are applied,
so only Hookline's own verbs may write them; everything else may be sent by anyone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from hookline.errors import BadInput, ReservedEvent
from hookline.points import FEED, POINTS, REACT

STATE_BEARING = frozenset(point.name for point in POINTS.values() if point.changes)

# The journal of flows: written by the engine alone.
RUN_EVENTS = frozenset(
    "run_started effect_requested effect_resolved run_chapter run_signalled run_parked"
    " run_paused run_resumed run_completed run_failed run_cancelled".split()
)

# Written by Hookline as a report of its own work; a forged one would mislead `why` and `attention`.
REPORTS = frozenset(point.name for point in POINTS.values() if point.report)
# What the engine records in addition to the journal.
RUN_NOTES = frozenset({"run_iteration", "run_log", "effect_started", "point_fired"})
# The life of a session, told by the session alone; `session_promise` is its agent's word.
TASK_ENDS = frozenset({"task_completed", "task_failed", "task_cancelled", "task_deleted"})
RUN_ENDS = frozenset({"run_completed", "run_failed", "run_cancelled"})
SESSION_EVENTS = frozenset(
    "session_started session_iteration session_checked session_iteration_ended session_waits"
    " session_paused session_resumed session_ended session_promise".split()
)
# The way of a task's work to the base branch.
MERGED_UNTESTED = "merged_untested"
GATE_EVENTS = frozenset(
    "base_pinned work_began submission_started merge_queued gate_decided gate_overridden"
    f" work_trusted {MERGED_UNTESTED}".split()
)
# What agents do in their own loop, written by the verbs that check it.
LOOP_EVENTS = frozenset(
    "iteration_started iteration_validated iteration_advanced iteration_completed"
    " hook_registered hooks_cleared note_added checkpoint_created checkpoint_resumed".split()
)

# What a turn of an agent has used until now.
TURN = "agent_turn"
# In the metadata of events: a program inside a session caused it, such as its agent.
INSIDE = "inside"

# A store that someone else made became this user's own; what was registered before is void.
ADOPTED = "store_adopted"

# A person had the details of old work removed.
PRUNED = "store_pruned"

# A person had the store compared with git and the forge, after its server had lost some of it.
RECONCILED = "store_reconciled"

RESERVED = frozenset((ADOPTED, PRUNED, RECONCILED, TURN)).union(
    STATE_BEARING, RUN_EVENTS, RUN_NOTES, REPORTS, SESSION_EVENTS, GATE_EVENTS, LOOP_EVENTS
)

SYSTEM_NODE = "system"
# What the metadata of an event says about who caused it; nobody else writes these names.
PROVENANCE = frozenset({"triggeredBy", "session", "run", "iteration", "cause", "hook", "depth"})
MAX_EVENT_BYTES = 1 << 20
# Deeper data could be written where it cannot be read.
MAX_EVENT_DEPTH = 200

# Events that are written because a point fires: their data names it.
STEERED, FIRED = "run_iteration", "point_fired"
FIRINGS = frozenset({STEERED, FIRED})
# Points that events fire besides their own type: those of runs, and those that sessions are told.
RUN_POINTS, SESSION_POINTS = (
    {each.fired_by: each.name for each in POINTS.values() if each.fired_by and each.rule == rule}
    for rule in (REACT, FEED)
)
# Where a firing says which session is told.
TOLD = "told"
ALSO_FIRED = {**RUN_POINTS, **SESSION_POINTS}


class Event(msgspec.Struct, rename="camel", frozen=True):
    """One entry of the log: `{seq, id, timestamp, type, nodeId, data, metadata}`."""

    seq: int
    id: str
    timestamp: str
    type: str
    node_id: str
    data: dict[str, Any]
    metadata: dict[str, Any]


def event_id(store_id: str, seq: int) -> str:
    """An id that sorts like the log and is unique across stores."""
    return f"{store_id}-{seq:012d}"


def check_type(name: str) -> str:
    """The type of an event that a person, a hook or an agent wants to send, or an error."""
    is_word = name.isascii() and name.translate(_WORD_MARKS).isalnum()
    if not 0 < len(name) <= 100 or not name[0].isalpha() or not is_word:
        help = "use letters, digits, '_', '-' and '.', beginning with a letter"
        raise BadInput(f"{name[:120]!r} is not an event type", help=help)
    if name in RESERVED:
        help = "use the task's own command, or choose another name"
        raise ReservedEvent(f"only Hookline writes {name} events", help=help)
    return name


_WORD_MARKS = str.maketrans("", "", "_-.")
