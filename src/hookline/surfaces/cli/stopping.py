"""Being told to end: ^C step by step, SIGTERM and a closed terminal at once.

Every command that advances runs hears its signals here.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.errors import IllegalTransition, StoreError
from hookline.surfaces.cli.endings import ENDINGS, ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from contextlib import AbstractContextManager

T = TypeVar("T")

NOW, LEAVE = 2, 3
TRY_AGAIN = 1.0


class Stopped(Exception):
    """A command was told to end; its text says by what."""


class Stopping:
    """Hears signals: each ^C is a step, and so is the first SIGTERM or SIGHUP: to the second.

    Shells and the kernel send SIGHUP several times, so any number of endings is one, and only
    a third ^C leaves. `ending` names what came first; it is None if that was a ^C. A signal
    that comes before someone answers is answered then.
    """

    def __init__(self) -> None:
        self._step = 0
        self._interrupts = 0
        self._before: dict[int, Any] = {}
        self._tell: Callable[[int], object] = lambda step: None
        self.ending: str | None = None

    def __enter__(self) -> Stopping:
        for number in (signal.SIGINT, *ENDINGS):
            before = signal.getsignal(number)
            # Who starts us with a signal ignored, as nohup does, means it to be.
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._heard)
        return self

    def __exit__(self, *details: object) -> None:
        for number, before in self._before.items():
            # A command that was told to end is about to; another word must not kill it.
            stays = self._step > 0 and number in ENDINGS
            signal.signal(number, ignored if stays else before)

    def _heard(self, number: int, frame: object) -> None:
        ending = ENDINGS.get(number)
        if self._step == 0:
            self.ending = ending
        self._interrupts += ending is None
        step = max(self._step, NOW if ending else self._interrupts)
        if step > self._step:
            self._step = step
            self._tell(step)

    @contextmanager
    def answered_by(self, answer: Callable[[int], object]) -> Iterator[None]:
        """Call `answer` with each step, in the running event loop."""
        loop = asyncio.get_running_loop()
        self._tell = lambda step: loop.call_soon_threadsafe(answer, step)
        if self._step:
            answer(self._step)
        try:
            yield
        finally:
            self._tell = lambda step: None


def steps(
    signals: Stopping,
    stop: Callable[..., None],
    say: Callable[[str], None],
    said: tuple[str, str],
) -> AbstractContextManager[None]:
    """^C once: stop after this turn; twice, or an ending: now; three times: leave.

    `stop` takes `now` and by what an ending came; `said` are the words for later and for now.
    """
    task = asyncio.current_task()
    assert task is not None

    def answer(step: int) -> None:
        if step >= LEAVE:
            task.cancel()
            return
        ending, now = signals.ending, step == NOW
        told = f"{ending}; stopping now" if ending else said[now]
        try:
            stop(now=now, ending=ending)
        except IllegalTransition:  # it has just ended by itself
            return
        except StoreError as problem:  # nobody may be there to ask a second time
            told = f"{problem.message}; trying again to stop"
            asyncio.get_running_loop().call_later(TRY_AGAIN, answer, step)
        say(told)

    return signals.answered_by(answer)


def run_to_end(main: Coroutine[Any, Any, T]) -> T:
    """Run something to its end; Stopped if it is told to end before."""
    with Stopping() as signals:
        try:
            return asyncio.run(_cancelled_by(signals, main))
        except asyncio.CancelledError:
            raise Stopped(": ".join(filter(None, ("interrupted", signals.ending)))) from None


async def _cancelled_by(signals: Stopping, main: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    with signals.answered_by(lambda step: task.cancel()):
        return await main
