"""What is asked of the API: the project as it is now, parts of the address, and what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from hookline import typed
from hookline.errors import BadInput
from hookline.surfaces.web import given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.queries.telemetry.figures import KeptFigures
    from hookline.surfaces.web.routes import Route

G = TypeVar("G", bound=given.Given)
MAX_LIMIT, MOST_NAMES = 5000, 100
Role = Literal["person", "viewer"]


class NotFound(BadInput, code="not-found"):
    """There is nothing at this address."""


class PageRequest(NamedTuple):
    """A request, once its form is checked. `role` is in which it came, `refused` why not more."""

    app: App
    parts: Mapping[str, str]
    taken: given.Given
    figures: KeptFigures
    role: Role
    refused: str | None = None

    def given(self, kind: type[G]) -> G:
        """The parameters or the body, of the type that the route takes."""
        assert isinstance(self.taken, kind)
        return self.taken

    def number(self, name: str) -> int:
        """A part of the address that is a number."""
        text = self.parts[name]
        if not text.isdecimal() or len(text) > 15:
            raise NotFound(f"'{text[:40]}' is not a number")
        return int(text)


def names(text: str | None) -> tuple[str, ...] | None:
    """The names in a list of them; None for no list."""
    if text is None:
        return None
    found = tuple(each for each in text.split(",") if each)
    if len(found) > MOST_NAMES:
        raise BadInput(f"at most {MOST_NAMES} can be named at once")
    return found


def matched(text: str) -> dict[str, str]:
    """The value that each column has to have, as JSON says it."""
    try:
        return typed.decode(text, dict[str, str])
    except msgspec.MsgspecError as problem:
        raise BadInput(f"match is a JSON object of texts: {problem}") from problem


def from_query(route: Route, query: Mapping[str, str]) -> given.Given:
    """The parameters of an address."""
    try:
        found = typed.convert(dict(query), route.takes, strict=False)
    except msgspec.ValidationError as problem:
        raise BadInput(f"the parameters are wrong: {problem}") from problem
    return _bounded(found)


def from_body(route: Route, body: bytes) -> given.Given:
    """The body of a request."""
    try:
        found = typed.decode(body or b"{}", route.takes)
    except msgspec.MsgspecError as problem:
        raise BadInput(f"the body is wrong: {problem}") from problem
    except RecursionError as problem:
        raise BadInput("the body is nested too deeply") from problem
    return _bounded(found)


def _bounded(found: Any) -> given.Given:
    limit = getattr(found, "limit", None)
    if limit is not None and not 1 <= limit <= MAX_LIMIT:
        raise BadInput(f"limit must be 1 to {MAX_LIMIT}")
    assert isinstance(found, given.Given)
    return found
