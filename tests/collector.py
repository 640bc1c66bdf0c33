"""A stand-in for a collector: takes OTLP over HTTP as protobuf, and keeps what it was sent."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue


class TakenSpan(NamedTuple):
    """A span as it arrived, with what its resource says."""

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    is_error: bool
    message: str
    resource: dict[str, Any]
    raw: bytes


class CollectorStandIn(ThreadingHTTPServer):
    """Keeps spans and metrics; answers with `status`, after what is in `answers` is used up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[TakenSpan] = []
        self.metrics: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.requests: list[dict[str, Any]] = []
        self.status = 200
        self.answers: list[int] = []
        # What it says with that.
        self.words = b""
        # How many spans it takes at once, and whether it kills who sent some.
        self.most: int | None = None
        self.kills_sender = False
        # It answers nothing before this is set.
        self.answers_now = threading.Event()
        self.answers_now.set()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def known(self) -> dict[str, TakenSpan]:
        """What a collector shows: each id once. A repeat must be the same to the byte."""
        found: dict[str, TakenSpan] = {}
        for each in self.spans:
            assert found.setdefault(each.id, each).raw == each.raw
        return found

    @property
    def repeated(self) -> Counter[str]:
        """How often each id came that came more than once."""
        found = Counter(each.id for each in self.spans)
        return Counter({span: count for span, count in found.items() if count > 1})

    def named(self, start: str) -> list[TakenSpan]:
        """The spans whose names begin so, by their begin."""
        found = (each for each in self.known.values() if each.name.startswith(start))
        return sorted(found, key=lambda each: each.start)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed while they speak."""


class _Handler(BaseHTTPRequestHandler):
    server: CollectorStandIn

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append({"path": self.path})
        self.server.answers_now.wait()
        status = self.server.answers.pop(0) if self.server.answers else self.server.status
        if status < 300 and self._is_too_much(body):
            status = 413
        if status < 300:
            self._take(body)
        if self.server.kills_sender and self.server.spans:
            os.kill(_client_of(self.client_address[1], self.server.server_port), signal.SIGKILL)
            return
        self.send_response(status)
        self.send_header("content-length", str(len(self.server.words)))
        self.end_headers()
        self.wfile.write(self.server.words)

    def _is_too_much(self, body: bytes) -> bool:
        if self.server.most is None or not self.path.endswith("/v1/traces"):
            return False
        asked = ExportTraceServiceRequest.FromString(body)
        count = sum(len(scope.spans) for each in asked.resource_spans for scope in each.scope_spans)
        return count > self.server.most

    def _take(self, body: bytes) -> None:
        assert self.headers["content-type"] == "application/x-protobuf"
        self.server.bodies.append(body)
        self.server.headers.append({name.lower(): each for name, each in self.headers.items()})
        if self.path.endswith("/v1/traces"):
            asked = ExportTraceServiceRequest.FromString(body)
            self.server.spans += [
                _span(span, _values(of_resource.resource.attributes))
                for of_resource in asked.resource_spans
                for of_scope in of_resource.scope_spans
                for span in of_scope.spans
            ]
        else:
            figures = ExportMetricsServiceRequest.FromString(body)
            self.server.metrics.append(_figures(figures))

    def log_message(self, format: str, *args: Any) -> None:
        """The tests read what was sent, not what was logged."""


def _client_of(port: int, server_port: int) -> int:
    """The process at the other end of a connection on this machine."""
    found: Iterator[int] = (
        each.pid
        for each in psutil.net_connections("tcp4")
        if each.pid and each.laddr.port == port and each.raddr and each.raddr.port == server_port
    )
    return next(found)


def _span(span: Any, resource: dict[str, Any]) -> TakenSpan:
    return TakenSpan(
        *(span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.name),
        *(span.start_time_unix_nano, span.end_time_unix_nano, _values(span.attributes)),
        *(span.status.code == 2, span.status.message, resource),
        span.SerializeToString(deterministic=True),
    )


def _figures(asked: ExportMetricsServiceRequest) -> dict[str, Any]:
    """Each metric's points: what they are about, and their values."""
    return {
        metric.name: {
            tuple(sorted(_values(point.attributes).items())): point.as_double
            for point in (metric.sum.data_points or metric.gauge.data_points)
        }
        for of_resource in asked.resource_metrics
        for of_scope in of_resource.scope_metrics
        for metric in of_scope.metrics
    }


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind is not None else None
