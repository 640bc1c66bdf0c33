"""Sending while a command advances runs: in its own thread, which nothing waits for.

Whatever goes wrong here, the work continues, and the record waits for the next process that sends.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.errors import HooklineError

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.operations.telemetry.figures import FigureSender
    from hookline.operations.telemetry.sending import Sent, SpanSender
    from hookline.wiring.running.telemetry import Destination

# How often it looks what is over, and how often metrics are sent.
LOOK_AGAIN, FIGURES_AGAIN = 1.0, 60.0
# How long a command that is over waits for the rest to be sent.
LAST = 3.0
VARIABLES = "OTEL_EXPORTER_OTLP_"
LATER = "`hookline telemetry status` shows it, and nothing is lost meanwhile"


def start_sending(app: App) -> None:
    """Send what is over, if anyone wants it, until the project is closed."""
    if not _is_wanted(app) or any(
        isinstance(getattr(each, "__self__", None), _Thread) for each in app.at_close
    ):
        return
    found = _destination(app)
    if found is None:
        return
    if found.problem is not None:
        app.tell(f"telemetry is not sent: {found.problem}; {LATER}")
        return
    thread = _Thread(app, found)
    thread.start()
    app.at_close.append(thread.stop)


def send_rest(app: App) -> None:
    """Send what is over, once, for a process that is about to end; errors are only told."""
    found = _destination(app) if _is_wanted(app) else None
    if found is None or found.problem is not None:
        return
    from hookline.operations.telemetry.sending import SpanSender  # loads what makes spans
    from hookline.wiring.running.telemetry import opened

    with suppress(HooklineError), opened(app, found) as world:
        sender = SpanSender(world)
        _tell(app, found, sender.send(until=time.monotonic() + LAST))
        sender.let_go()


def _is_wanted(app: App) -> bool:
    """Whether anything says where telemetry goes; most projects send none, and load nothing."""
    if any(name.startswith(VARIABLES) for name in app.environ):
        return True
    found = app.settings
    return found is not None and bool(found.users_telemetry or found.telemetry.get("endpoint"))


def _destination(app: App) -> Destination | None:
    from hookline.wiring.running.telemetry import destination

    return destination(app) if app.delivers else None


class _Thread:
    """The thread that sends."""

    def __init__(self, app: App, found: Destination) -> None:
        self._app, self._found = app, found
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="telemetry")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Send the rest, but do not wait for it for long."""
        self._stop.set()
        self._thread.join(timeout=LAST + 1.0)

    def _run(self) -> None:
        try:
            from hookline.operations.telemetry.figures import FigureSender
            from hookline.operations.telemetry.sending import SpanSender
            from hookline.wiring.running.telemetry import opened

            with opened(self._app, self._found) as world:
                self._send(SpanSender(world), FigureSender(world))
        except Exception as problem:  # noqa: BLE001  # telemetry must not end the work
            self._app.tell(f"telemetry is not sent any more: {problem!r}; {LATER}")

    def _send(self, sender: SpanSender, figures: FigureSender) -> None:
        is_over = False
        while not is_over:
            is_over = self._stop.is_set()
            until = time.monotonic() + LAST if is_over else None
            # A store that is busy or away now may not be the next time.
            with suppress(HooklineError):
                self._look(sender, until)
                figures.send_if_due(0.0 if is_over else FIGURES_AGAIN)
            if not is_over:
                self._stop.wait(LOOK_AGAIN)
        with suppress(HooklineError):
            sender.let_go()

    def _look(self, sender: SpanSender, until: float | None) -> None:
        _tell(self._app, self._found, sender.send(until=until))


def _tell(app: App, found: Destination, sent: Sent) -> None:
    """A failure is told once, until something arrives again."""
    if sent.error is not None and sent.is_first:
        app.tell(f"telemetry did not reach {found.name}: {sent.error}; {LATER}")
