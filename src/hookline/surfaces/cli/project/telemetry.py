"""`hookline telemetry` and `hookline metrics`: the record for OpenTelemetry and Prometheus."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.domain.text.terminal import plural
from hookline.errors import FAILED
from hookline.operations.telemetry.by_hand import NOWHERE, send_now
from hookline.queries.telemetry.figures import FigureReader
from hookline.queries.telemetry.prometheus import prometheus_text
from hookline.queries.telemetry.status import telemetry_status
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, note, say, untrusted
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from hookline.operations.telemetry.sending import Sent
    from hookline.queries.telemetry.status import TelemetryStatus


def _send_arguments(p: ArgumentParser) -> None:
    help = "send the whole record from its beginning, whatever was sent before"
    p.add_argument("--all", action="store_true", help=help)


def _send(args: Namespace) -> int | None:
    refuse_agents(os.environ, "telemetry send")
    with closing(App.open()) as app:
        sent = send_now(app, everything=args.all)
    if answer(args, sent):
        for line in _sent(sent):
            say(line)
    return FAILED if sent.error is not None else None


def _sent(sent: Sent) -> Iterator[str]:
    if sent.spans or not (sent.error or sent.is_elsewhere):
        yield f"sent {plural(sent.spans, 'span')}"
    if sent.rejected:
        yield f"the collector rejected {plural(sent.rejected, 'span')}"
    if sent.error is not None:
        yield f"not sent: {untrusted(sent.error, 300)}"
    if sent.is_elsewhere:
        yield "another process sends what is over"


def _status(args: Namespace) -> None:
    with reading() as app:
        found = telemetry_status(app)
    if answer(args, found):
        for line in _lines(found):
            say(line)
        if found.destination is None:
            note(f"  = help: {NOWHERE}")


def _lines(found: TelemetryStatus) -> Iterator[str]:
    if found.destination is None:
        yield "telemetry goes nowhere"
        return
    what = [
        name for name, is_sent in (("traces", found.traces), ("metrics", found.metrics)) if is_sent
    ]
    yield f"{' and '.join(what)} go to {untrusted(found.destination, 300)}"
    yield f"  configured by  {found.configured_by}"
    yield f"  content        {'sent, without secrets' if found.content else 'not sent'}"
    yield f"  conventions    OpenTelemetry {found.conventions}"
    if found.problem is not None:
        yield f"  problem        {untrusted(found.problem, 300)}; {untrusted(found.help, 300)}"
    if found.seq is None:
        yield "  nothing was sent yet"
        return
    rejected = f", {found.rejected} rejected" if found.rejected else ""
    at = f", last at {found.sent_at}" if found.sent_at else ""
    yield f"  sent           {plural(found.sent, 'span')}{rejected}{at}"
    yield f"  position       event {found.seq} of {found.last_seq}"
    if found.open_calls:
        yield f"  not over       {plural(found.open_calls, 'call')} of hooks"
    if found.error is not None:
        times = plural(found.failures, "failure")
        yield f"  not reached    {untrusted(found.error, 300)} ({times}); again at {found.next_try}"
    yield f"  to be sent     {'something' if found.is_behind else 'nothing'}"


def _metrics(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        found = FigureReader(app.cleaner).read(view)
    if answer(args, found):
        say(prometheus_text(found).rstrip("\n"))


TELEMETRY_COMMANDS = {
    "send": Command("send what is over, now", _send_arguments, _send),
    "status": Command("show where telemetry goes, and how far it came", no_arguments, _status),
}
COMMANDS = {
    "metrics": Command("print the figures of the record for Prometheus", no_arguments, _metrics)
}
