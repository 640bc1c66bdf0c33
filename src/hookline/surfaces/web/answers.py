"""What the API answers besides what the page shows: that something was done, or why not."""

from __future__ import annotations

from hookline.queries.page.shown import Shown


class DoneAnswer(Shown):
    """What was done, in a sentence; `next` is what still has to be typed, if anything.

    `seq` is the newest event, which the stream will show.
    """

    message: str
    seq: int
    next: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    session: str | None = None


class RefusedText(Shown):
    """What is wrong, and what helps."""

    code: str
    message: str
    help: str | None


class RefusedAnswer(Shown):
    """Why a request was refused."""

    error: RefusedText
