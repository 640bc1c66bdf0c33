"""What each address of the API does: one call of `queries` or `operations`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.queries.page import project, sessions, waiting
from hookline.surfaces.web import given as g

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.surfaces.web.asked import Asked


def _visitor(asked: Asked) -> project.Visitor:
    return project.visitor(asked.app, asked.role, asked.refused)


def _attention(asked: Asked) -> waiting.AttentionPage:
    return waiting.attention_page(asked.app)


def _sessions(asked: Asked) -> sessions.SessionsPage:
    wanted = asked.given(g.SessionsWanted)
    return sessions.sessions_page(asked.app, wanted.status, wanted.before, wanted.limit)


HANDLERS: Mapping[str, Callable[[Asked], Any]] = {
    "visitor": _visitor,
    "attention": _attention,
    "sessions": _sessions,
}
