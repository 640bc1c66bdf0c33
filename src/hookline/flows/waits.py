"""Effects that only wait: when they are over, and values that are known at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hookline.domain.moments import seconds
from hookline.domain.runs import ERROR, OK, Resolution
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.domain.runs import JournalEffect, Request, Run
    from hookline.ports import Blobs, Transaction


def instant_value(tx: Transaction, run_id: str, request: Request) -> Any:
    """The value of an effect that is journaled the moment it is asked for."""
    if request.kind == "now":
        return tx.now
    if request.kind == "uuid":
        return str(uuid4())
    if request.kind == "random":
        return int.from_bytes(os.urandom(7), "big") / (1 << 56)
    if request.kind == "log":
        tx.append("run_log", run_id, dict(request.args))
        return None
    return request.kind == "version" or None


def settle_waits(tx: Transaction, run: Run, blobs: Blobs, now: float) -> None:
    """Resolve what has waited long enough, or for a signal that has come."""
    signals = tx.runs.signals(run)
    for effect in tx.runs.pending(run):
        if effect.kind == "signal":
            found = next((s for s in signals if s[1] == effect.args["name"]), None)
            if found is not None:
                signals.remove(found)
                tx.runs.consume_signal(found[0])
                journal.resolve(tx, run, effect.effect_id, Resolution(OK, found[2]), blobs)
            continue
        due = moment_of(effect)
        if due is None or due > now:
            continue
        if effect.kind == "sleep":
            journal.resolve(tx, run, effect.effect_id, Resolution(OK), blobs)
        elif effect.kind == "breakpoint":
            late = Resolution(ERROR, error="nobody answered in time")
            journal.resolve(tx, run, effect.effect_id, late, blobs)


def next_moment(pending: Iterable[JournalEffect], wait_until: float | None) -> float | None:
    """When the first of these has something to do by itself."""
    moments = [moment_of(effect) for effect in pending]
    moments += [effect.next_try for effect in pending]
    known = [moment for moment in (*moments, wait_until) if moment is not None]
    return min(known, default=None)


def moment_of(effect: JournalEffect) -> float | None:
    """When a waiting effect is over by itself."""
    if effect.kind == "sleep":
        if "until" in effect.args:
            return seconds(effect.args["until"])
        return seconds(effect.requested_at) + float(effect.args["seconds"])
    if effect.kind == "breakpoint" and effect.args.get("maxAge") is not None:
        return seconds(effect.requested_at) + float(effect.args["maxAge"])
    return None
