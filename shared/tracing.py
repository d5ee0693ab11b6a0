"""Traces by OpenTelemetry, exported over OTLP when its standard variables name an endpoint; else nothing is done.

The API and the SDK are imported only then. Spans: the request (FastAPI's own), the job, its turns, its calls to models
(``shared/llm/traces.py``) and its runs in sandboxes. W3C trace context connects the processes: the gateway keeps
the ``traceparent`` of the request with the job (https://www.w3.org/TR/trace-context/).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from shared import VERSION

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanKind, Tracer

Value = str | bool | int | float | Sequence[str]
Kind = Literal["internal", "client", "consumer"]
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_provider: TracerProvider | None = None


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Return whether the standard variables request traces.

    https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    """
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exports = environment.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() == "otlp"
    return exports and not disabled and any(environment.get(name, "").strip() for name in _ENDPOINTS)


def configure(service: str) -> None:
    """Export the spans of this process, when the environment requests it; called once, after every fork."""
    if is_wanted(os.environ):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415

        export(service, OTLPSpanExporter())


def export(service: str, exporter: SpanExporter) -> Callable[[], None]:
    """Export the spans of this process to the exporter; what comes back ends that, and sends what waits."""
    global _provider  # noqa: PLW0603 - one for a process, as the API has it
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    named = {
        "service.name": os.environ.get("OTEL_SERVICE_NAME") or f"assay-{service}",
        "service.version": VERSION,
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
    }
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)  # of a process that has one already this keeps the first
    _provider = provider
    return close


def close() -> None:
    """Send the spans that wait, and export no more."""
    global _provider
    provider, _provider = _provider, None
    if provider is not None:
        provider.shutdown()


@contextmanager
def span(name: str, kind: Kind = "internal", parent: str | None = None, **attributes: Value) -> Iterator[Recorded]:
    """Record a span around the block; an inner span is its child. ``parent`` is a ``traceparent``, for the first one.

    In a keyword's name ``__`` is a dot: ``assay__job__id`` is ``assay.job.id``. An exception marks the span as failed;
    only its class is recorded, because its message may be a user's text.
    """
    tracer = _tracer()
    if tracer is None:
        yield Recorded(None)
        return
    from opentelemetry import trace  # noqa: PLC0415

    begun = tracer.start_span(name, _context_of(parent), _kind(kind), _dotted(attributes))
    recorded = Recorded(begun)
    with trace.use_span(begun, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield recorded
        except BaseException as error:
            recorded.fail(getattr(error, "code", type(error).__name__))
            raise


class Recorded:
    """The current span, or nothing when tracing is off."""

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def set(self, **attributes: Value | None) -> None:
        if self._span is not None:
            self._span.set_attributes(_dotted({name: value for name, value in attributes.items() if value is not None}))

    def fail(self, error_type: str) -> None:
        """Mark it as failed; ``error_type`` is the code of a problem, or the class of an exception."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode  # noqa: PLC0415

            self._span.set_attribute("error.type", error_type)
            self._span.set_status(StatusCode.ERROR)


class Parent:
    """Where spans that other threads make belong: the span that was current when this was made."""

    def __init__(self) -> None:
        self._context: Context | None = None
        if _provider is not None:
            from opentelemetry import context  # noqa: PLC0415

            self._context = context.get_current()

    def ended(
        self, name: str, kind: Kind, seconds: float, attributes: Mapping[str, Value], error_type: str | None = None
    ) -> None:
        """Record work that took ``seconds`` and has just ended: below this thread's span, else below the parent."""
        tracer = _tracer()
        if tracer is None:
            return
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.trace import StatusCode  # noqa: PLC0415

        inside = trace.get_current_span().get_span_context().is_valid
        end = time.time_ns()
        span = tracer.start_span(
            name, None if inside else self._context, _kind(kind), attributes, start_time=end - int(seconds * 1e9)
        )
        if error_type is not None:
            span.set_attribute("error.type", error_type)
            span.set_status(StatusCode.ERROR)
        span.end(end)


def traceparent() -> str | None:
    """Return the current span in the form that is sent to other processes; None without one."""
    if _provider is None:
        return None
    from opentelemetry import trace  # noqa: PLC0415

    current = trace.get_current_span().get_span_context()
    if not current.is_valid:
        return None
    return f"00-{current.trace_id:032x}-{current.span_id:016x}-{int(current.trace_flags):02x}"


def trace_id_of(traceparent: str | None) -> str | None:
    """Return the id of the trace that a ``traceparent`` belongs to: 32 hexadecimal digits."""
    parts = (traceparent or "").split("-")
    return parts[1] if len(parts) == 4 else None


def _tracer() -> Tracer | None:
    return None if _provider is None else _provider.get_tracer("assay", VERSION)


def _context_of(parent: str | None) -> Context | None:
    """Return the context of a ``traceparent``; None is the current one."""
    if parent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    return TraceContextTextMapPropagator().extract({"traceparent": parent})


def _kind(kind: Kind) -> SpanKind:
    from opentelemetry.trace import SpanKind  # noqa: PLC0415

    return SpanKind[kind.upper()]


def _dotted(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {name.replace("__", "."): value for name, value in attributes.items()}
