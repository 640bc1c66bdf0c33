"""`hookline telemetry send`: what is over, now, and how that went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.operations.telemetry.figures import FigureSender
from hookline.operations.telemetry.sending import Sent, SpanSender
from hookline.wiring.running.telemetry import CannotSend, destination, opened

if TYPE_CHECKING:
    from hookline.app import App

NOWHERE = (
    "write `telemetry: {endpoint: URL}` into your own hookline.yaml, or set"
    " OTEL_EXPORTER_OTLP_ENDPOINT"
)


def send_now(app: App, *, everything: bool = False) -> Sent:
    """Send what is over; with `everything`, the whole record from its beginning once more."""
    found = destination(app)
    if found is None:
        raise CannotSend("telemetry goes nowhere", help=NOWHERE)
    with opened(app, found) as world:
        if everything:
            with world.store.write({}) as tx:
                tx.exports.begin(found.name, 0)
        sender = SpanSender(world)
        sent = sender.send(at_once=True)
        sender.let_go()
        if sent.error is None:
            FigureSender(world).send_if_due(0.0)
    return sent
