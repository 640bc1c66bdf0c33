"""What waits for a person, with what each can be answered by."""

from __future__ import annotations

from hookline.queries.page.shown import Shown, Way


class Question(Shown):
    """What is asked: by a gate at its `point`, or by a breakpoint of a flow.

    `head` is the commit that a gate asks about.
    """

    text: str
    seq: int | None
    point: str | None
    hook: str | None
    head: str | None
    effect_id: str | None


class WaitingItem(Shown):
    """One thing that waits for a person: why, since when, what to type, and what to press.

    `diff` is where the API has the changes that it is about.
    """

    key: str
    kind: str
    id: str
    since: str | None
    message: str
    command: str
    goal: str | None
    outcome: str | None
    reason: str | None
    task_id: str | None
    run_id: str | None
    session: str | None
    seq: int | None
    question: Question | None
    diff: str | None
    ways: list[Way]


class AttentionPage(Shown):
    """Everything that waits for a person."""

    seq: int
    items: list[WaitingItem]
