"""The API: each address of `routes` is answered by the function of its name in `handlers`."""

from __future__ import annotations

import sys
import traceback
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route as Address

from hookline.app import App
from hookline.errors import (
    BadInput,
    HooklineError,
    IllegalTransition,
    PeopleOnly,
    StoreBusy,
    StoreFull,
    StoreUnreachable,
    Untrusted,
)
from hookline.sessions.names import find
from hookline.surfaces.serving import MAX_BODY, ROLE, in_thread
from hookline.surfaces.web.answers import RefusedAnswer, RefusedText
from hookline.surfaces.web.asked import PageRequest, from_body, from_query
from hookline.surfaces.web.handlers import HANDLERS
from hookline.surfaces.web.routes import GET, JSON, LINES, ROUTES, TEXT
from hookline.trust.page_tokens import AGENT, PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from hookline.queries.telemetry.figures import KeptFigures
    from hookline.surfaces.courier import Courier
    from hookline.surfaces.web.asked import Role
    from hookline.surfaces.web.given import Given
    from hookline.surfaces.web.routes import Route

_UNKNOWN = frozenset(
    "unknown-task unknown-hook unknown-event unknown-run unknown-session unknown-effect"
    " unknown-flow unknown-dependency not-found".split()
)
_CODES: tuple[tuple[type[HooklineError], int], ...] = (
    (PeopleOnly, 403),
    (IllegalTransition, 409),
    (StoreBusy, 503),
    (StoreUnreachable, 503),
    (StoreFull, 503),
    (Untrusted, 409),
    (BadInput, 422),
    (HooklineError, 409),
)
VIEWS = "this token only shows: a person's token decides"
TOOLS = "this token is for agents' tools, at /mcp"


class ServedProject(NamedTuple):
    """The project that is served, and who delivers the hooks of what is changed there.

    `is_agents` says whether an agent or a hook is behind a connection.
    """

    root: str
    environ: Mapping[str, str]
    courier: Courier
    is_agents: Callable[[Request], bool]
    figures: KeptFigures


def addresses(place: ServedProject) -> list[Address]:
    """The addresses that are answered at once."""
    made = [_address(place, route) for route in ROUTES if route.content != LINES]
    return sorted(made, key=lambda each: "{" in each.path)


def _address(place: ServedProject, route: Route) -> Address:
    async def answer(request: Request) -> Response:
        return await _answered(place, route, request)

    path = route.path.replace("{hook}", "{hook:path}")
    return Address(path, answer, methods=[route.method])


async def _answered(place: ServedProject, route: Route, request: Request) -> Response:
    """Answer a request; whatever goes wrong becomes an answer that says what to do."""
    try:
        role = request.scope[ROLE]
        is_told = route.decided or route.name == "visitor"
        refused = await may_not(place, role, request) if is_told or role == AGENT else None
        if refused is not None and (route.decided or role == AGENT):
            raise PeopleOnly(refused)
        taken = await _taken(route, request)
        asks = partial(_worked, place, route, dict(request.path_params), taken, (role, refused))
        value = await in_thread(asks)
        if route.method != GET:
            await place.courier.deliver(place.environ, place.root)
        return _response(value)
    except HooklineError as problem:
        return refusal(problem)
    except ClientDisconnect:  # in the middle of what it sent: nothing was done, and nobody hears
        return Response(status_code=400)
    except Exception:  # noqa: BLE001  # the outer boundary: a bug becomes a short report
        traceback.print_exc(file=sys.stderr)
        return refused_with(500, "bug", "this failed inside Hookline", "see the server's stderr")


def allowed(request: Request) -> None:
    """Raise PeopleOnly for an agent, who sees nothing here."""
    if request.scope[ROLE] == AGENT:
        raise PeopleOnly(TOOLS)


def found_session(place: ServedProject, name: str) -> str:
    """The run of a session by its name, its run or its task."""
    opened = App.open(place.root, environ=place.environ, read_only=True)
    with closing(opened) as app, app.read() as view:
        return find(view, name).run_id


async def may_not(place: ServedProject, role: str, request: Request) -> str | None:
    """Why whoever asks may not decide; None for a person."""
    if role == AGENT:
        return TOOLS
    if role != PERSON:
        return VIEWS
    if await in_thread(partial(place.is_agents, request)):
        return "only a person can do this; the request comes from an agent or a hook"
    return None


def _worked(
    place: ServedProject,
    route: Route,
    parts: Mapping[str, str],
    taken: Given,
    by: tuple[Role, str | None],
) -> Any:
    """The answer of a handler, in a thread with its own connection to the store."""
    reads = not route.decided
    with closing(App.open(place.root, environ=place.environ, read_only=reads)) as app:
        return HANDLERS[route.name](PageRequest(app, parts, taken, place.figures, *by))


async def _taken(route: Route, request: Request) -> Given:
    if route.method == GET:
        return from_query(route, dict(request.query_params))
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != JSON:
        raise BadInput(f"the body must be {JSON}")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise TooLarge
    return from_body(route, bytes(body))


class TooLarge(BadInput, code="too-large"):
    """The body is too large."""


def _response(value: Any) -> Response:
    if isinstance(value, str):
        return Response(value.encode("utf-8", "replace"), media_type=TEXT)
    return Response(msgspec.json.encode(value), media_type=JSON)


def refusal(problem: HooklineError) -> Response:
    """Why a request was refused, with the status that fits."""
    status = next(status for kind, status in _CODES if isinstance(problem, kind))
    if problem.code in _UNKNOWN:
        status = 404
    if isinstance(problem, TooLarge):
        status = 413
    return refused_with(status, problem.code, problem.message, problem.help)


def refused_with(status: int, code: str, message: str, help: str | None = None) -> Response:
    """A refusal as the API answers it."""
    told = RefusedAnswer(error=RefusedText(code=code, message=message, help=help))
    return Response(msgspec.json.encode(told), status_code=status, media_type=JSON)
