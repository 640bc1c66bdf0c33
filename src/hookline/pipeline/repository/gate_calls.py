"""Asking a gate during a merge, in no hook's record: the journal of the merge has its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.hooks.frames import Frame
from hookline.hooks.rules import RULES
from hookline.pipeline.gate_payload import gate_payload
from hookline.points import GATE, HOLDING

if TYPE_CHECKING:
    from hookline.domain.hooks.records import Outcome
    from hookline.domain.work.submissions import Submission
    from hookline.flows.attempt import Surroundings
    from hookline.hooks.registry import Hook


async def call_gate(
    around: Surroundings, gate: Hook, work: Submission, goal: str, key: str, **extra: Any
) -> Outcome:
    """Ask one gate during a merge."""
    payload = gate_payload(work, goal, "", 0, extra)
    frame = Frame(HOLDING[0], RULES[GATE], payload, key)
    return await around.recorder.call(gate, frame, _Unrecorded())


class _Unrecorded:
    """Nothing to record: the journal of the merge has the result."""

    def begin(self) -> None:
        """Nothing to record: a repeated merge finds the process by its key."""

    def end(self, outcome: Outcome) -> None:
        """Nothing more."""
