"""What an advance tells the workflow: statuses and numbers, nothing that users wrote."""

from __future__ import annotations

from typing import Any

Answer = dict[str, Any]
# Another process advances the run; this host may not.
HELD: Answer = {"held": True}
NOT_HERE: Answer = {"here": False}


def answer(status: str, wait: float | None = None, *, done: bool = False) -> Answer:
    """The run is done, or has to be looked at again after so many seconds."""
    # What is not so is left out: histories are kept for long.
    more: Answer = {} if wait is None else {"wait": wait}
    return {"status": status, **({"done": True} if done else more)}
