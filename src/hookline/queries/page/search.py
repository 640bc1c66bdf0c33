"""Search over everything: tasks, sessions, runs, hooks and events."""

from __future__ import annotations

from hookline.queries.page.shown import Shown


class Hit(Shown):
    """Something that was found; `seq` is its event, where it is one."""

    kind: str
    id: str
    title: str
    text: str
    at: str | None
    seq: int | None


class SearchPage(Shown):
    """The best hits; `more` if there are others."""

    query: str
    hits: list[Hit]
    more: bool
