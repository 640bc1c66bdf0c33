"""Effects that only wait: when they are over, and values that are known at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hookline.domain.runs.due import SET_BACK, has_woken
from hookline.domain.runs.model import ERROR, OK, JournalEffect, Request, Resolution, Run
from hookline.domain.timestamps import seconds
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hookline.flows.own_flows import OwnFlow
    from hookline.ports.store import Blobs, Transaction


def instant_value(tx: Transaction, run: Run, request: Request, own: OwnFlow) -> Any:
    """The value of an effect that is resolved when it is requested."""
    if request.kind == "now":
        return tx.now
    if request.kind == "uuid":
        return str(uuid4())
    if request.kind == "random":
        return int.from_bytes(os.urandom(7), "big") / (1 << 56)
    if request.kind == "log":
        tx.append("run_log", run.run_id, dict(request.args))
        return None
    if request.kind in ("version", "noop"):
        return request.kind == "version" or None
    return own.perform(tx, tx.runs.find(run.run_id), request.args)


def is_over(effect: JournalEffect, now: float, signals: Collection[str]) -> bool:
    """Whether a waiting effect has waited long enough, or its signal has come."""
    if effect.kind == "signal" and effect.args["name"] in signals:
        return True
    if effect.kind in ("sleep", "signal") and _was_set_back(effect, now):
        return True
    due = moment_of(effect)
    return due is not None and due <= now


def _was_set_back(effect: JournalEffect, now: float) -> bool:
    """Whether the clock was set back since a wait began.

    Then it is unknown how much of it is over, and waiting for that time again could take years.
    """
    lasts = "seconds" in effect.args or effect.args.get("maxAge") is not None
    return lasts and seconds(effect.requested_at) > now + SET_BACK


def has_come(run: Run, pending: Iterable[JournalEffect], now: float) -> bool:
    """Whether a run that is parked until a time is due."""
    return has_woken(run, now) or any(is_over(effect, now, ()) for effect in pending)


def settle_waits(tx: Transaction, run: Run, blobs: Blobs, now: float) -> None:
    """Resolve what has waited long enough, or for a signal that has come."""
    signals = tx.runs.signals(run)
    for effect in tx.runs.pending(run):
        if not is_over(effect, now, [name for _, name, _ in signals]):
            continue
        result = Resolution(OK)
        if effect.kind == "signal":
            found = next((each for each in signals if each[1] == effect.args["name"]), None)
            if found is not None:
                signals.remove(found)
                tx.runs.consume_signal(found[0])
                result = Resolution(OK, found[2])
        elif effect.kind == "breakpoint":
            result = Resolution(ERROR, error="nobody answered in time")
        journal.resolve(tx, run, effect.effect_id, result, blobs)


def next_moment(
    pending: Iterable[JournalEffect], wait_until: float | None, now: float
) -> float | None:
    """When the first of these effects is due."""
    moments = [moment_of(effect) for effect in pending]
    # A due try that no hook chooses does not wake anyone up.
    moments += [e.next_try for e in pending if e.next_try is not None and e.next_try > now]
    known = [moment for moment in (*moments, wait_until) if moment is not None]
    return min(known, default=None)


def moment_of(effect: JournalEffect) -> float | None:
    """When a waiting effect ends without an answer."""
    if effect.kind == "sleep":
        if "until" in effect.args:
            return seconds(effect.args["until"])
        return seconds(effect.requested_at) + float(effect.args["seconds"])
    if effect.kind in ("breakpoint", "signal") and effect.args.get("maxAge") is not None:
        return seconds(effect.requested_at) + float(effect.args["maxAge"])
    return None
