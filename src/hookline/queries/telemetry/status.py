"""What `hookline telemetry status` and `doctor` say: where telemetry goes, and how far it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.telemetry import CONVENTIONS
from hookline.domain.timestamps import iso
from hookline.queries.telemetry.spans import RELEVANT
from hookline.wiring.running.telemetry import destination

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.telemetry import ExportPosition
    from hookline.ports.store import View


class TelemetryStatus(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """Where telemetry goes and how far it came. `is_behind` is whether something is to be sent."""

    destination: str | None = None
    configured_by: str | None = None
    content: bool = False
    traces: bool = False
    metrics: bool = False
    conventions: str = CONVENTIONS
    problem: str | None = None
    help: str = ""
    sent: int = 0
    rejected: int = 0
    sent_at: str | None = None
    seq: int | None = None
    last_seq: int = 0
    open_calls: int = 0
    is_behind: bool = False
    failures: int = 0
    error: str | None = None
    next_try: str | None = None


def telemetry_status(app: App) -> TelemetryStatus:
    """How telemetry fares."""
    found = destination(app)
    if found is None:
        return TelemetryStatus()
    with app.read() as view:
        position = view.exports.find(found.name)
        last, behind = view.log.last(), position is not None and _is_behind(view, position)
        waiting = view.exports.open_calls(found.name)
    status = TelemetryStatus(
        destination=found.name,
        configured_by=found.where,
        content=found.has_content,
        traces=found.traces is not None,
        metrics=found.metrics is not None,
        problem=found.problem,
        help=found.help,
        last_seq=last,
        open_calls=waiting,
        is_behind=behind,
    )
    return status if position is None else _with_position(status, position)


def _with_position(status: TelemetryStatus, position: ExportPosition) -> TelemetryStatus:
    told = {
        "sent": position.sent,
        "rejected": position.rejected,
        "sent_at": iso(position.sent_at) if position.sent_at is not None else None,
        "seq": position.seq,
        "failures": position.failures,
        "error": position.error,
        "next_try": iso(position.next_try) if position.failures else None,
    }
    return msgspec.structs.replace(status, **told)


def _is_behind(view: View, position: ExportPosition) -> bool:
    """Whether something is over that was not sent."""
    events = view.log.events(after=position.seq, types=RELEVANT, limit=1)
    calls = view.exports.calls_after(position.delivery, 1)
    return bool(events or calls or view.exports.perhaps_over(position.name, 0, 1))
