"""What is exported: spans made of final rows, figures, and how far an exporter has come."""

from __future__ import annotations

from typing import Literal

import msgspec

from hookline.digest import sha256

# The version of the semantic conventions whose names are used, by OpenTelemetry's own count.
CONVENTIONS = "1.44.0"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{CONVENTIONS}"

Value = str | int | float | bool | list[str]


class SpanPlace(msgspec.Struct, frozen=True):
    """A span's trace and its own id. Both follow from what it is about, and never from chance."""

    trace: str
    span: str


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Something that took time and is over; moments are nanoseconds since 1970.

    `error` is the kind of an error, `message` what is said about it.
    """

    place: SpanPlace
    parent: str | None
    name: str
    start: int
    end: int
    attributes: dict[str, Value]
    is_client: bool = False
    error: str | None = None
    message: str = ""
    links: list[SpanPlace] = []


class Series(msgspec.Struct, frozen=True):
    """One value of a figure, and what it is about."""

    value: float
    labels: dict[str, str] = {}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of the record: a counter only grows, a gauge is as it is now."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    help: str
    series: list[Series]


class ExportPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far an exporter has come in the log and in the calls of hooks, and how it fares.

    `failures` counts those since something arrived last, `rejected` spans that were refused.
    """

    name: str
    seq: int = 0
    delivery: int = 0
    sent: int = 0
    rejected: int = 0
    sent_at: float | None = None
    failures: int = 0
    next_try: float = 0.0
    error: str | None = None
    owner: str | None = None
    token: int = 0
    lease_until: float = 0.0


def trace_id(*parts: object) -> str:
    """The id of a trace, from what it is about."""
    return _digest("trace", parts)[:32]


def span_id(*parts: object) -> str:
    """The id of a span, from what it is about."""
    return _digest("span", parts)[:16]


def _digest(what: str, parts: tuple[object, ...]) -> str:
    text = "\0".join((what, *map(str, parts)))
    return str(sha256(text.encode("utf-8", "replace")).hexdigest())
