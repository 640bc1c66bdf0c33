"""SIGTERM and a closed terminal: every command ends as with ^C, and leaves no process behind."""

from __future__ import annotations

# What `signal` is made of: every command comes here, and making enums of the numbers takes longer
# than all else that it does.
import _signal as signal  # type: ignore[import-not-found]
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# What an ending is called where a person reads why something stopped.
ENDINGS: dict[int, str] = {
    signal.SIGTERM: "terminated (SIGTERM)",
    signal.SIGHUP: "the terminal was closed (SIGHUP)",
}


def hear_endings() -> None:
    """Take an ending for a ^C from now on."""
    for number in ENDINGS:
        # Who starts us with a signal ignored, as nohup does, means it to be.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def ignored(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN, which programs that are started from here would inherit."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Only the first counts: shells and the kernel send several, and a second ^C would interrupt
    # what the first one has begun.
    for each in ENDINGS:
        signal.signal(each, ignored)
    answer = signal.getsignal(signal.SIGINT)
    (answer if callable(answer) else signal.default_int_handler)(signal.SIGINT, frame)
