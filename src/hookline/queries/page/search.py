"""Search over everything: tasks, sessions, runs, hooks and events."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from hookline.domain import tasks as t
from hookline.domain.hooks.names import short_name
from hookline.domain.text.display import untrusted
from hookline.queries.page.shown import Shown, event_row
from hookline.sessions.names import all_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.ports.store import View

SHOWN = 200
# What comes before the word that was found.
BEFORE = 40
MAX_QUERY = 200
# The newest events that are searched.
NEWEST = 20_000
PART = 2000


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


def search(app: App, query: str, limit: int) -> SearchPage:
    """What has every word in it: tasks, sessions, runs, hooks, then the newest events."""
    words = query[:MAX_QUERY].lower().split()
    if not words:
        return SearchPage(query=query, hits=[], more=False)
    with app.read() as view:
        everything = chain(
            _by_name(view, query.strip()),
            _tasks(view, words),
            _sessions(view, words),
            _hooks(app, words),
            _runs(view, words),
            _events(view, words),
        )
        found = list(islice(_once(everything), limit + 1))
    return SearchPage(query=query, hits=found[:limit], more=len(found) > limit)


def _once(hits: Iterator[Hit]) -> Iterator[Hit]:
    seen = set()
    for each in hits:
        if (each.kind, each.id) not in seen:
            seen.add((each.kind, each.id))
            yield each


def _has(words: Sequence[str], *texts: str | None) -> bool:
    whole = "\n".join(text for text in texts if text).lower()
    return all(word in whole for word in words)


def _hit(kind: str, name: str, title: str, about: str, at: str | None, seq: int | None) -> Hit:
    return Hit(
        kind=kind,
        id=name,
        title=untrusted(title, SHOWN),
        text=untrusted(about, SHOWN),
        at=at,
        seq=seq,
    )


def _by_name(view: View, query: str) -> Iterator[Hit]:
    """An event by its position, since no text has that in it."""
    event = view.log.find(int(query)) if query.isdecimal() and len(query) < 16 else None
    if event is not None:
        yield _event(event)


def _tasks(view: View, words: Sequence[str]) -> Iterator[Hit]:
    for task in reversed(view.graph.tasks(states=t.STATES)):
        about = (task.block_reason, task.result, task.type, *task.labels, *task.notes)
        if _has(words, task.id, task.goal, *about):
            yield _hit("task", task.id, task.goal, task.state, task.created_at, None)


def _sessions(view: View, words: Sequence[str]) -> Iterator[Hit]:
    for run in all_sessions(view):
        given = run.input
        if _has(words, run.run_id, given["name"], given["goal"], given.get("agent")):
            yield _hit("session", run.run_id, given["name"], given["goal"], run.created_at, None)


def _hooks(app: App, words: Sequence[str]) -> Iterator[Hit]:
    owned = (hook for _, hook in app.scopes.owned())
    for hook in (*app.registry.list(), *owned):
        if _has(words, hook.name, hook.target, hook.when, hook.description, *hook.points):
            points = ", ".join(hook.points)
            yield _hit("hook", hook.name, short_name(hook.name), points, None, None)


def _runs(view: View, words: Sequence[str]) -> Iterator[Hit]:
    for run in view.runs.runs(limit=PART):
        if _has(words, run.run_id, run.flow, run.reason, run.error):
            about = run.error or run.reason or run.status
            yield _hit("run", run.run_id, run.flow, about, run.created_at, None)


def _events(view: View, words: Sequence[str]) -> Iterator[Hit]:
    last = view.log.last()
    for begin in range(max(last - PART, 0), max(last - NEWEST - PART, -PART), -PART):
        part = view.log.events(after=max(begin, 0), limit=PART + min(begin, 0))
        for event in reversed(part):
            data = msgspec.json.encode(event.data).decode()
            if _has(words, event.type, event.node_id, data):
                yield _event(event, words, data)
        if begin <= 0:
            return


def _event(event: Event, words: Sequence[str] = (), data: str = "") -> Hit:
    """An event, and what of it was found if that is not what a line says anyway."""
    row = event_row(event)
    hidden = next((word for word in words if word not in f"{row.text} {event.type}".lower()), None)
    text = row.text if hidden is None else _around(hidden, data) or row.text
    return _hit("event", str(event.seq), f"{event.type} {row.node}", text, row.at, event.seq)


def _around(word: str, data: str) -> str:
    at = data.lower().find(word)
    begin = max(at - BEFORE, 0)
    return f"{'…' if begin else ''}{data[begin : at + SHOWN]}" if at >= 0 else ""
