"""The addresses whose answers do not end by themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.routing import Route as Address

from hookline.errors import HooklineError
from hookline.surfaces.serving import in_thread
from hookline.surfaces.web.api import allowed, found_session, refusal
from hookline.surfaces.web.asked import from_query
from hookline.surfaces.web.given import FeedWanted, StreamWanted
from hookline.surfaces.web.routes import LINES, ROUTES

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hookline.surfaces.web.api import ServedProject
    from hookline.surfaces.web.feed import SessionFeeds
    from hookline.surfaces.web.stream import EventStream

_LONG = {route.name: route for route in ROUTES if route.content == LINES}


def stream_addresses(
    place: ServedProject, stream: EventStream, feeds: SessionFeeds
) -> list[Address]:
    """The stream of events, and the feed of a session."""

    async def events(request: Request) -> Response:
        try:
            allowed(request)
            wanted = from_query(_LONG["stream"], dict(request.query_params))
        except HooklineError as problem:
            return refusal(problem)
        assert isinstance(wanted, StreamWanted)
        return stream.response(wanted.after)

    async def feed(request: Request) -> Response:
        try:
            allowed(request)
            wanted = from_query(_LONG["feed"], dict(request.query_params))
            run_id = await in_thread(partial(found_session, place, request.path_params["run"]))
        except HooklineError as problem:
            return refusal(problem)
        assert isinstance(wanted, FeedWanted)
        return feeds.response(run_id, wanted.tail)

    return [
        Address(_LONG["stream"].path, events, methods=["GET"]),
        Address(_LONG["feed"].path, feed, methods=["GET"]),
    ]
