"""The broker calls models for a run of a job: the run sees what it would see if it called them itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import JsonValue
from redis import Redis
from sqlalchemy import Engine, select

from services.broker.runs import AskingRuns
from services.broker.server import BrokerServer
from shared import db
from shared.contracts.jobs import JobState
from shared.errors import JobCancelled, NoProviderConfigured, ProvidersFailed
from shared.jobs.delivery.notifier import Notifier
from shared.jobs.job import Job
from shared.jobs.models import BrokeredJobModels, JobModels
from shared.jobs.record import statements, submission
from shared.jobs.running.leases import Lease, LeasedWriter
from shared.jobs.running.report import JobReport
from shared.jobs.running.runner import claimed_job
from shared.llm.broker_client import BrokerClient, Connection, digest_of
from shared.llm.chat import ChatMessage, ChatRequest, Estimates, ImagePart, TokenUsage, Tool, ToolUse
from shared.llm.faults import BrokerRefused, BrokerUnavailable, NoSuchModel
from shared.llm.layer import LlmLayer
from shared.llm.prompts import PromptRegistry
from shared.llm.tables import llm_calls
from shared.loop import Budget, BudgetSpent
from tests.shared.llm.support import HELLO, layer
from tests.support.rows import job_row
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

TRANSFORM = "execution.transform"
FAILING_OVER = ({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": {"text": "ok", "input_tokens": 9}})


@dataclass
class KeptReport(JobReport):
    """Keeps its events."""

    told: list[tuple[str, dict[str, JsonValue]]] = field(default_factory=list)

    def event(self, type: str, **data: JsonValue) -> None:
        self.told.append((type, data))


@dataclass
class Run:
    """A run of a job, and its models."""

    job: Job
    report: KeptReport
    models: Any
    budget: Budget


@dataclass
class Broker:
    engine: Engine
    redis: Redis
    layer: LlmLayer
    server: BrokerServer
    client: BrokerClient

    def connect(self) -> Connection:
        return Connection(socket.create_connection(self.server.server_address[:2]))  # type: ignore[arg-type]

    def run(self, kind: str = "transform", *, brokered: bool = True, **columns: object) -> Run:
        """Yield a run of a new job, which calls models through the broker or by itself."""
        row, secret = job_row(kind=kind, **columns), "a-secret"
        with self.engine.begin() as connection:
            connection.execute(submission.submit(row))
            statement = statements.claim(kind, "worker", 60, 0, digest_of(secret)).clause
            claimed = connection.execute(statement).mappings().one()
        job = claimed_job(claimed)
        lease = Lease(statements.Held.of(job), f"{job.id}.{secret}")
        report, budget = KeptReport(LeasedWriter(self.engine), Notifier(self.redis), lease), Budget()
        access = BrokeredJobModels(self.client, PromptRegistry(None)) if brokered else JobModels(self.layer)
        models, _ = access.for_job(job, budget, report, claimed["overrides"])
        return Run(job, report, models, budget)

    def end(self, run: Run) -> None:
        with self.engine.begin() as connection:
            end = statements.complete(statements.Held.of(run.job), JobState.SUCCEEDED, {}, None, [], {}).clause
            connection.execute(end)

    def ledger(self, run: Run) -> list[tuple[Any, ...]]:
        calls = llm_calls.c
        columns = (calls.tenant_id, calls.turn, calls.served_provider, calls.reason, calls.outcome, calls.output_tokens)
        with self.engine.connect() as connection:
            rows = connection.execute(select(*columns).where(calls.job_id == run.job.id).order_by(calls.id))
            return [tuple(row) for row in rows]


@contextmanager
def served(runs: AskingRuns, port: int = 0) -> Iterator[tuple[BrokerServer, BrokerClient]]:
    """A broker, and a client of it."""
    server = BrokerServer(("127.0.0.1", port), runs)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with closing(BrokerClient(f"tcp://127.0.0.1:{server.server_address[1]}")) as client:
        yield server, client
    server.stop(5)


@pytest.fixture(scope="module")
def broker(scripted_llm: ScriptedLlm, database_url: str, redis_url: str) -> Iterator[Broker]:
    engine, redis = db.connect(database_url), Redis.from_url(redis_url)
    with (
        layer(scripted_llm, ("groq", "cerebras"), engine, breaker_failures=1000) as llm,
        served(AskingRuns(engine, llm, 600, trusted_seconds=0)) as (server, client),
    ):
        yield Broker(engine, redis, llm, server, client)
    redis.close()
    engine.dispose()


def test_a_run_sees_what_it_would_see_if_it_asked_itself(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    runs = []
    for brokered in (False, True):
        scripted_llm.play(*FAILING_OVER)
        run = broker.run(brokered=brokered)
        reply = run.models.complete(ChatRequest(TRANSFORM, HELLO, turn=3))
        assert (reply.text, reply.provider, reply.source) == ("ok", "cerebras", "scripted")
        runs.append(run)

    own, brokered_run = runs
    without_times = [
        [(type, {name: value for name, value in data.items() if name != "seconds"}) for type, data in run.report.told]
        for run in runs
    ]
    assert without_times[0] == without_times[1]
    assert [type for type, _ in without_times[1]] == ["llm_call", "failover", "llm_call"]
    assert broker.ledger(own) == broker.ledger(brokered_run)
    assert len(broker.ledger(own)) == 2
    assert own.report.usage() == brokered_run.report.usage()
    assert own.budget.tokens_spent == brokered_run.budget.tokens_spent > 0


def test_images_tools_and_schemas_arrive_as_they_were(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    picture = ImagePart("image/png", bytes(range(256)))
    call = {"id": "c1", "name": "look", "params": {"at": ["1", 2.5, None]}}
    scripted_llm.play({"reply": {"tool_calls": [call]}})
    words = (ChatMessage("user", "Look: “¿qué?” \u2028", (picture,)),)
    request = ChatRequest(TRANSFORM, words, tools=(Tool("look", "looks", {"type": "object"}),), parameters={"seed": 1})

    asked = []
    for brokered in (False, True):
        run = broker.run(brokered=brokered, overrides={"model": "groq/sees-images"})
        reply = run.models.complete(request)
        assert reply.tool_calls == (ToolUse("c1", "look", {"at": ["1", 2.5, None]}),)
        asked.append(scripted_llm.requests()[-1]["body"])
    assert asked[0] == asked[1]
    assert "image_url" in str(asked[1])


def test_faults_are_raised_as_what_they_are(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"fault": "server_error"})
    run = broker.run()

    with pytest.raises(ProvidersFailed) as failed:
        run.models.complete(ChatRequest(TRANSFORM, HELLO))
    with pytest.raises(NoSuchModel, match="nobody"):
        run.models.complete(ChatRequest(TRANSFORM, HELLO, selector=("nobody/has-it",)))

    attempts = failed.value.extra["attempts"]
    assert isinstance(attempts, list)
    assert [each["outcome"] for each in attempts if isinstance(each, dict)] == ["server_error", "server_error"]
    assert failed.value.status == 502


def test_a_prompt_that_the_broker_found_too_long_is_shortened_and_told_by_the_worker(
    broker: Broker, scripted_llm: ScriptedLlm
) -> None:
    overflow = {"kind": "seen", "name": "llama.cpp overflow"}
    scripted_llm.play({"when": {"any": "x{9000}"}, "fault": overflow}, {"reply": "ok"})
    run = broker.run()

    reply = run.models.complete(ChatRequest(TRANSFORM, (ChatMessage("user", "x" * 20_000),)))

    assert reply.text == "ok"
    assert [data["window"] for type, data in run.report.told if type == "prompt_shortened"] == [2048]


@pytest.mark.parametrize("brokered", [False, True])
def test_a_reproducible_job_is_asked_with_a_seed_and_warned_of_models_that_take_none(
    broker: Broker, scripted_llm: ScriptedLlm, brokered: bool
) -> None:
    refusal = {"kind": "status", "status": 400, "message": "property 'seed' is unsupported"}
    scripted_llm.play({"reply": "ok"})
    run = broker.run(brokered=brokered, overrides={"reproducible": True})
    run.models.complete(ChatRequest(TRANSFORM, HELLO))
    assert run.report.warnings == []
    assert [scripted_llm.requests()[-1]["body"][name] for name in ("temperature", "seed")] == [0, 1]

    scripted_llm.play({"fault": refusal, "times": 1}, {"reply": "ok"})
    other = broker.run(brokered=brokered, overrides={"reproducible": True, "model": f"groq/old-{brokered}"})
    other.models.complete(ChatRequest(TRANSFORM, HELLO))
    assert other.report.warnings == [f"groq/old-{brokered} takes no temperature and no seed: its answers may vary."]


def test_only_the_roles_of_the_jobs_kind_may_be_asked(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "no"})
    with pytest.raises(BrokerRefused, match=r"flows\.edit"):
        broker.run().models.complete(ChatRequest("flows.edit", HELLO))
    with pytest.raises(BrokerRefused):
        broker.run("execute").models.complete(ChatRequest(TRANSFORM, HELLO))
    assert scripted_llm.requests() == []


def test_a_token_ends_with_its_run(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    run = broker.run()
    assert run.models.complete(ChatRequest(TRANSFORM, HELLO)).text == "ok"

    broker.end(run)

    with pytest.raises(BrokerRefused, match="running job"):
        run.models.complete(ChatRequest(TRANSFORM, HELLO))


@pytest.mark.parametrize("token", ["", "nothing", "{id}.", "{id}.guessed", "x" * 5000, "\u00e9.\u00e9"])
def test_a_token_that_is_guessed_opens_nothing(broker: Broker, scripted_llm: ScriptedLlm, token: str) -> None:
    scripted_llm.play({"reply": "no"})
    run = broker.run()
    brokered = replace(run.models.models, token=token.replace("{id}", run.job.id))

    with pytest.raises((BrokerRefused, BrokerUnavailable)):
        brokered.complete(ChatRequest(TRANSFORM, HELLO))

    assert scripted_llm.requests() == []


def test_the_jobs_tokens_are_counted_by_the_broker_too(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": {"text": "ok", "input_tokens": 100, "output_tokens": 10}})
    run = broker.run(budget={"tokens": 150})
    run.models.complete(ChatRequest(TRANSFORM, HELLO))
    run.models.complete(ChatRequest(TRANSFORM, HELLO))

    with pytest.raises(BudgetSpent, match="tokens"):
        run.models.complete(ChatRequest(TRANSFORM, HELLO))

    assert len(scripted_llm.requests()) == 2


@pytest.mark.slow
def test_the_jobs_time_is_counted_by_the_broker_too(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"fault": "hang"})
    run = broker.run(budget={"seconds": 2})

    with pytest.raises((BudgetSpent, ProvidersFailed)) as spent:
        run.models.complete(ChatRequest(TRANSFORM, HELLO))

    assert isinstance(spent.value, BudgetSpent | ProvidersFailed)
    assert spent.value.attempts, "who had the time is told"
    assert all(isinstance(one, dict) and one["outcome"] == "timed_out" for one in spent.value.attempts)


def test_a_cancelled_run_stops_the_call_to_the_provider(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"fault": "hang"})
    run = broker.run()

    def cancel() -> None:
        until(scripted_llm.requests, "a call")
        run.report.lease.cancelled.set()

    canceller = threading.Thread(target=cancel)
    canceller.start()

    with pytest.raises(JobCancelled):
        run.models.complete(ChatRequest(TRANSFORM, HELLO))
    canceller.join()

    until(lambda: [row[4] for row in broker.ledger(run)] == ["abandoned"], "the call is given up")


def test_a_worker_that_dies_stops_the_call_to_the_provider(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"fault": "hang"})
    run = broker.run()
    connection = broker.connect()
    connection.send(run.models.models.token.encode(), b'{"request": {"role": "execution.transform", "messages": []}}')
    until(scripted_llm.requests, "a call")

    connection.close()

    until(lambda: [row[4] for row in broker.ledger(run)] == ["abandoned"], "the call is given up")


def test_what_is_no_question_is_refused_and_the_broker_goes_on(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    run = broker.run()
    connection = broker.connect()
    connection.send(run.models.models.token.encode(), b"\x00 no question")

    assert b"model_broker_refused" in connection.line(lambda: False)
    connection.close()
    assert run.models.complete(ChatRequest(TRANSFORM, HELLO)).text == "ok"


def test_a_broker_that_is_started_anew_is_asked_again(broker: Broker, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    run = broker.run()
    with served(broker.server.runs) as (first, client):
        models = replace(run.models.models, client=client)
        assert models.complete(ChatRequest(TRANSFORM, HELLO)).text == "ok"
        first.stop(5)
        with served(broker.server.runs, first.server_address[1]):
            assert models.complete(ChatRequest(TRANSFORM, HELLO)).text == "ok"


def test_an_estimate_is_of_the_model_that_would_be_asked(broker: Broker) -> None:
    run, own = broker.run("document"), broker.run("document", brokered=False)
    request, usage = ChatRequest("documents.instruction", HELLO), TokenUsage(1000, 100)

    assert isinstance(run.models, Estimates)
    assert run.models.estimate(request, usage) == own.models.estimate(request, usage)


def test_without_a_key_the_job_says_what_is_missing(scripted_llm: ScriptedLlm, broker: Broker) -> None:
    with (
        layer(scripted_llm, (), broker.engine) as keyless,
        served(AskingRuns(broker.engine, keyless, 600)) as (server, client),
    ):
        run = replace(broker, server=server, client=client).run()
        with pytest.raises(NoProviderConfigured):
            run.models.complete(ChatRequest(TRANSFORM, HELLO))
