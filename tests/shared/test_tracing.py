"""Traces: what requests them, how spans hang together, and what reaches a receiver of OTLP from real processes."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2 as httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from services.host.installation import free_port
from shared import keys, tracing
from shared.errors import UserCodeFailed
from shared.llm import traces
from shared.llm.chat import ChainLink, ChatReply, ChatRequest, Finish, ProviderAttempt, TokenUsage
from shared.loop import Again, Budget, Done, run_loop
from shared.settings import StoreSettings
from tests.support.platform import Platform
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    close = tracing.export("test", kept)
    yield kept
    close()


def ended(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    """The spans by name; all of them are there once the exporter is closed."""
    tracing.close()
    return {span.name: span for span in exporter.get_finished_spans()}


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_standard_variables_ask_for_traces(environment: dict[str, str], wanted: bool) -> None:
    assert tracing.is_wanted(environment) is wanted


def test_without_them_nothing_is_recorded() -> None:
    with tracing.span("job", parent=TRACEPARENT) as recorded:
        recorded.set(assay__job__id="1")
        recorded.fail("x")
        assert tracing.traceparent() is None
    tracing.Parent().ended("chat m", "client", 1.0, {})


def test_spans_continue_the_trace_of_the_request_and_nest(exporter: InMemorySpanExporter) -> None:
    with tracing.span("job execute", "consumer", TRACEPARENT, assay__job__id="1"):
        assert tracing.trace_id_of(tracing.traceparent()) == TRACE
        with tracing.span("turn", assay__turn=1):
            pass
    spans = ended(exporter)
    job, turn = spans["job execute"], spans["turn"]
    assert job.context is not None
    assert job.parent is not None
    assert turn.parent is not None
    assert (f"{job.context.trace_id:032x}", f"{job.parent.span_id:016x}") == (TRACE, PARENT)
    assert turn.parent.span_id == job.context.span_id
    assert dict(job.attributes or {}) == {"assay.job.id": "1"}
    assert job.resource.attributes["service.name"] == "assay-test"


def test_a_failed_span_says_the_code_and_no_words(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(UserCodeFailed), tracing.span("job execute"):
        raise UserCodeFailed("the secret of a user")
    span = ended(exporter)["job execute"]
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {}) == {"error.type": "user_code_failed"}
    assert "secret" not in span.to_json()


def test_a_call_of_another_thread_belongs_to_the_job_that_it_was_made_for(exporter: InMemorySpanExporter) -> None:
    link = ChainLink("groq", "llama")
    request = ChatRequest("flows.edit", (), turn=2, max_tokens=100)
    reply = ChatReply("a secret", "groq", "llama-3", finish=Finish.STOP, usage=TokenUsage(12, 3))
    good = ProviderAttempt(2, request, link, "failover", "ok", reply=reply, seconds=2.0, first_token=0.5)
    bad = ProviderAttempt(1, request, ChainLink("cerebras", "qwen"), "primary", "rate_limited", http_status=429)
    with tracing.span("job flow"):
        parent = tracing.Parent()
        for attempt in (bad, good):
            thread = threading.Thread(target=traces.record, args=(parent, attempt))
            thread.start()
            thread.join()
    spans = ended(exporter)
    job, called, failed = spans["job flow"], spans["chat llama"], spans["chat qwen"]
    assert job.context is not None
    for span in (called, failed):
        assert span.parent is not None
        assert span.parent.span_id == job.context.span_id
    assert (called.end_time or 0) - (called.start_time or 0) == 2_000_000_000
    assert dict(called.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "groq",
        "gen_ai.request.model": "llama",
        "gen_ai.request.max_tokens": 100,
        "gen_ai.response.model": "llama-3",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "assay.role": "flows.edit",
        "assay.turn": 2,
        "assay.attempt.reason": "failover",
        "assay.attempt.first_token_seconds": 0.5,
    }
    assert failed.status.status_code is StatusCode.ERROR
    assert (failed.attributes or {})["error.type"] == "rate_limited"
    assert "a secret" not in called.to_json()


def test_each_turn_of_the_loop_is_a_span_with_its_outcome(exporter: InMemorySpanExporter) -> None:
    outcomes: Iterator[Again | Done[str]] = iter([Again("no", "no_change"), Done("yes")])

    def execute(proposal: int) -> Again | Done[str]:
        return next(outcomes)

    assert run_loop(len, execute, Budget(), lambda turn: None) == "yes"
    tracing.close()
    told = [dict(span.attributes or {}) for span in exporter.get_finished_spans()]
    assert told == [
        {"assay.turn": 1, "assay.outcome": "no_change"},
        {"assay.turn": 2, "assay.outcome": "done"},
    ]


class Received:
    """What a receiver of OTLP over HTTP was sent."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []

    def spans(self) -> list[tuple[str, Span]]:
        """Each with its service."""
        told = []
        for request in list(self.requests):
            for resource in request.resource_spans:
                named = {each.key: each.value.string_value for each in resource.resource.attributes}
                for scope in resource.scope_spans:
                    told += [(named["service.name"], span) for span in scope.spans]
        return told

    def names(self) -> set[str]:
        return {span.name for _, span in self.spans()}

    def one(self, name: str) -> tuple[str, Span]:
        [only] = [(service, span) for service, span in self.spans() if span.name == name]
        return only


@contextmanager
def receiver() -> Iterator[tuple[str, Received]]:
    """The endpoint of a receiver, and what it was sent."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                received.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow(seconds=6)
@pytest.mark.timeout(240)
def test_one_trace_from_the_request_to_the_sandbox(stores: StoreSettings, scripted_llm: ScriptedLlm) -> None:
    """A transform over HTTP: its spans come from the gateway and the worker, each below the right one."""
    platform = Platform(stores)
    code = "```python\nresult = df.assign(b=df.a * 2)\n```\nDONE"
    scripted_llm.play({"reply": {"text": code, "input_tokens": 7, "output_tokens": 5}})
    with platform.engine.begin() as connection:
        key = keys.create(connection, "acme", "test", ("read", "write"))[1]
    port = free_port("127.0.0.1", 0)
    try:
        with receiver() as (endpoint, received):
            told = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200"}
            told |= scripted_llm.environment(["groq"])
            platform.start("services.gateway", ASSAY_PORT=str(port), ASSAY_HOST="127.0.0.1", **told)
            platform.start("services.execution", ASSAY_SANDBOX_SLOTS="1", **told)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                job = _submitted(client, key)
                problem = client.get("/v1/jobs/nope", headers={"Authorization": f"Bearer {key}"}).json()
            until(lambda: {"job transform", "POST /v1/jobs"} <= received.names(), "the spans", 120)
    finally:
        platform.stop()
    assert job["state"] == "succeeded", job
    (gateway, request), (worker, run) = received.one("POST /v1/jobs"), received.one("job transform")
    assert (gateway, worker) == ("assay-gateway", "assay-execution")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, PARENT)
    assert (run.trace_id, run.parent_span_id) == (request.trace_id, request.span_id)
    below = [span for _, span in received.spans() if span.trace_id == request.trace_id]
    turns = {span.span_id for span in below if span.name == "turn"}
    assert {span.parent_span_id for span in below if span.name == "turn"} == {run.span_id}
    assert {span.parent_span_id for span in below if span.name.startswith("chat ")} == turns
    assert turns & {span.parent_span_id for span in below if span.name == "sandbox run"}
    assert len(problem["trace_id"]) == 32


def _submitted(client: httpx.Client, key: str) -> dict[str, object]:
    """The job after its end, as soon as the gateway and a worker are there."""
    headers = {"Authorization": f"Bearer {key}", "traceparent": TRACEPARENT, "Prefer": "wait=60"}
    body = {"kind": "transform", "input": {"task": "double a", "data": [{"name": "df", "rows": [{"a": 1}, {"a": 2}]}]}}

    def answers() -> bool:
        try:
            return client.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    until(answers, "the gateway", 60)
    answer = client.post("/v1/jobs", json=body, headers=headers)
    assert answer.status_code in (200, 202), answer.text
    job: dict[str, object] = answer.json()
    until(lambda: _state(client, key, str(job["id"])) not in ("queued", "in_queue", "running"), "the end", 120)
    return dict(client.get(f"/v1/jobs/{job['id']}", headers=headers).json())


def _state(client: httpx.Client, key: str, job_id: str) -> str:
    return str(client.get(f"/v1/jobs/{job_id}", headers={"Authorization": f"Bearer {key}"}).json()["state"])
