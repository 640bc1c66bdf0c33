"""^C while a worker works, as for one session: step by step, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.flows.worker import Worker
    from hookline.surfaces.cli.live_watch import Watch

AFTER_TURNS = "taking no more; stopping after these turns; ^C again stops now"
NOW = "stopping now; ^C again leaves at once, `hookline work` goes on"


class Signals:
    """^C once: stop after these turns; twice: now; three times: leave. SIGTERM, SIGHUP: now."""

    def __init__(self, worker: Worker, watch: Watch, *, leave: Callable[[], Any]) -> None:
        self._worker = worker
        self._watch = watch
        self._leave = leave
        self._asked = 0

    def __enter__(self) -> Signals:
        loop = asyncio.get_running_loop()
        for number, answer in (
            (signal.SIGINT, self._interrupted),
            (signal.SIGTERM, self._ended),
            (signal.SIGHUP, self._ended),
        ):
            # Who starts us with a signal ignored, as nohup does, means it to be.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, answer)
        return self

    def __exit__(self, *details: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)

    def _interrupted(self) -> None:
        self._asked += 1
        if self._asked > 2:
            self._leave()
        else:
            self._stop(NOW if self._asked == 2 else AFTER_TURNS, now=self._asked == 2)

    def _ended(self) -> None:
        if self._asked >= 2:
            self._leave()
            return
        self._asked = 2
        self._stop(NOW, now=True)

    def _stop(self, told: str, *, now: bool) -> None:
        try:
            self._worker.stop(now=now)
        except HooklineError as problem:  # the store is busy or full
            told = f"{problem.message}; ^C again"
        self._watch.say(told)
