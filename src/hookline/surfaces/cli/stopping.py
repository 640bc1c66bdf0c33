"""^C while agents work: step by step, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.surfaces.cli.live_watch import Watch

ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """^C once: stop after this turn; twice: now; three times: leave. SIGTERM and SIGHUP: now.

    `stop` takes `now`, whether that is at once; `said` are the words for later and for now.
    """

    def __init__(
        self,
        stop: Callable[..., None],
        watch: Watch,
        said: tuple[str, str],
        *,
        leave: Callable[[], Any],
    ) -> None:
        self._stop = stop
        self._watch = watch
        self._said = said
        self._leave = leave
        self._asked = 0

    def __enter__(self) -> Stopping:
        loop = asyncio.get_running_loop()
        answers = {signal.SIGINT: self._interrupted, **dict.fromkeys(ENDINGS, self._ended)}
        for number, answer in answers.items():
            # Who starts us with a signal ignored, as nohup does, means it to be.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, answer, number)
        return self

    def __exit__(self, *details: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, *ENDINGS):
            loop.remove_signal_handler(number)

    def _interrupted(self, number: signal.Signals) -> None:
        self._ask(self._asked + 1, self._said)

    def _ended(self, number: signal.Signals) -> None:
        told = f"told to end ({number.name}); stopping now"
        self._ask(max(self._asked + 1, 2), (told, told))

    def _ask(self, step: int, said: tuple[str, str]) -> None:
        self._asked = step
        if step > 2:
            self._leave()
            return
        now = step == 2
        told = said[now]
        try:
            self._stop(now=now)
        except HooklineError as problem:  # the store is busy or full, or it has just ended
            told = f"{problem.message}; ^C again"
        self._watch.say(told)
