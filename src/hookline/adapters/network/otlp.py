"""OTLP over HTTP: spans and figures in the collector's own encoding, protobuf.

The SDK makes ids and times of its own as things happen; ours follow from the record, so only the
messages of the protocol are used. They come with `hookline[otel]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
)
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2 as trace

from hookline.domain.telemetry import SCHEMA_URL
from hookline.ports.exports import NotTaken, Taken
from hookline.ports.network import CannotReach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.telemetry import Figure, Span, Value
    from hookline.ports.network import Http

Reply = TypeVar("Reply", bound=Message)
TIMEOUT = 10.0
MOST_OF_REPLY = 64 * 1024
# What a collector answers to a request that it would refuse again.
_OUR_FAULT = (400, 413, 422)
_LAST_MOMENT = _LARGEST = 2**63 - 1


class OtlpCollector:
    """A collector at two URLs; either may be missing, and nothing of its kind is sent."""

    def __init__(
        self,
        http: Http,
        traces: str | None,
        figures: str | None,
        headers: Mapping[str, str],
        resource: Mapping[str, Value],
        version: str,
    ) -> None:
        self._http, self._traces, self._figures = http, traces, figures
        self._headers = {**headers, "content-type": "application/x-protobuf"}
        self._resource = Resource(attributes=_pairs(resource))
        self._scope = InstrumentationScope(name="hookline", version=version)

    async def spans(self, spans: Sequence[Span]) -> Taken:
        """Send spans."""
        if self._traces is None:
            return Taken()
        of_scope = trace.ScopeSpans(
            scope=self._scope, spans=map(_span, spans), schema_url=SCHEMA_URL
        )
        of_resource = trace.ResourceSpans(
            resource=self._resource, scope_spans=[of_scope], schema_url=SCHEMA_URL
        )
        asked = ExportTraceServiceRequest(resource_spans=[of_resource])
        found = await self._post(self._traces, asked, ExportTraceServiceResponse())
        said = found.partial_success
        return Taken(_refused(said.rejected_spans, len(spans)), said.error_message)

    async def figures(self, figures: Sequence[Figure], since: float, now: float) -> Taken:
        """Send figures."""
        if self._figures is None:
            return Taken()
        times = int(since * 1e9), int(now * 1e9)
        of_scope = metrics.ScopeMetrics(
            scope=self._scope,
            metrics=[_metric(each, times) for each in figures],
            schema_url=SCHEMA_URL,
        )
        of_resource = metrics.ResourceMetrics(
            resource=self._resource, scope_metrics=[of_scope], schema_url=SCHEMA_URL
        )
        asked = ExportMetricsServiceRequest(resource_metrics=[of_resource])
        found = await self._post(self._figures, asked, ExportMetricsServiceResponse())
        said = found.partial_success
        most = sum(len(each.series) for each in figures)
        return Taken(_refused(said.rejected_data_points, most), said.error_message)

    async def _post(self, url: str, asked: Message, answer: Reply) -> Reply:
        body = asked.SerializeToString(deterministic=True)
        try:
            reply = await self._http.post(
                url, body=body, headers=self._headers, timeout=TIMEOUT, limit=MOST_OF_REPLY
            )
        except CannotReach as problem:
            raise NotTaken(str(problem)) from problem
        except TimeoutError as problem:
            raise NotTaken(f"no answer within {TIMEOUT:g} s") from problem
        if not 200 <= reply.status < 300:
            hint = ": redirects are not followed" if 300 <= reply.status < 400 else ""
            message = f"the server answered {reply.status}{hint}"
            raise NotTaken(message, is_ours=reply.status in _OUR_FAULT)
        try:
            answer.ParseFromString(reply.body)
        except DecodeError:  # it took everything, and says so in its own way
            answer.Clear()
        return answer


def _refused(said: int, most: int) -> int:
    """How many a collector refused; it cannot have refused more than it was sent."""
    return max(0, min(said, most))


def _time(moment: int) -> int:
    """A moment as the protocol can tell it, whatever clock it is from."""
    return max(0, min(moment, _LAST_MOMENT))


def _span(span: Span) -> trace.Span:
    links = [
        trace.Span.Link(trace_id=bytes.fromhex(each.trace), span_id=bytes.fromhex(each.span))
        for each in span.links
    ]
    attributes = dict(span.attributes)
    status = trace.Status()
    if span.error is not None:
        attributes["error.type"] = span.error
        status = trace.Status(code=trace.Status.STATUS_CODE_ERROR, message=span.message)
    return trace.Span(
        trace_id=bytes.fromhex(span.place.trace),
        span_id=bytes.fromhex(span.place.span),
        parent_span_id=bytes.fromhex(span.parent or ""),
        name=span.name,
        kind=trace.Span.SPAN_KIND_CLIENT if span.is_client else trace.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=_time(span.start),
        end_time_unix_nano=_time(max(span.start, span.end)),
        attributes=_pairs(attributes),
        links=links,
        status=status,
    )


def _metric(figure: Figure, times: tuple[int, int]) -> metrics.Metric:
    points = [
        metrics.NumberDataPoint(
            attributes=_pairs(each.labels),
            as_double=each.value,
            start_time_unix_nano=times[0],
            time_unix_nano=times[1],
        )
        for each in figure.series
    ]
    about: dict[str, Any] = {
        "name": figure.name,
        "description": figure.help,
        "unit": figure.unit,
    }
    if figure.kind == "gauge":
        return metrics.Metric(gauge=metrics.Gauge(data_points=points), **about)
    total = metrics.Sum(
        data_points=points,
        is_monotonic=True,
        aggregation_temporality=metrics.AGGREGATION_TEMPORALITY_CUMULATIVE,
    )
    return metrics.Metric(sum=total, **about)


def _pairs(values: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_value(value)) for name, value in values.items()]


def _value(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return AnyValue(int_value=value)
    if isinstance(value, float | int):
        return AnyValue(double_value=float(value))
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=map(_value, value)))
    # Halves of surrogate pairs have no encoding.
    return AnyValue(string_value=value.encode("utf-8", "replace").decode())
