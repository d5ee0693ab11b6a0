"""What a job says that it cost."""

from __future__ import annotations

from contextlib import closing

import pytest
from redis import Redis

from shared import db
from shared.jobs.delivery.notifier import Notifier
from shared.jobs.models import JobModels
from shared.jobs.record import statements, submission
from shared.jobs.running.leases import Lease, LeasedWriter
from shared.jobs.running.report import JobReport
from shared.jobs.running.runner import claimed_job
from shared.llm.chat import ChatRequest
from shared.llm.layer import LlmLayer
from shared.loop import Budget
from tests.shared.llm.support import HELLO, layer
from tests.support.rows import job_row
from tests.support.scripted import ScriptedLlm


def test_a_run_after_a_crash_counts_what_the_dead_one_asked(
    scripted_llm: ScriptedLlm, database_url: str, redis_url: str
) -> None:
    engine, redis, row = db.connect(database_url), Redis.from_url(redis_url), job_row(kind="transform")
    reply = {"reply": {"text": "ok", "input_tokens": 100, "output_tokens": 10}}
    scripted_llm.play(reply, reply, reply)
    with engine.begin() as connection:
        connection.execute(submission.submit(row))

    def run(llm: LlmLayer, times: int) -> JobReport:
        """A run that makes that number of calls, and then writes no end: as if its worker had died."""
        with engine.begin() as connection:
            claimed = connection.execute(statements.claim("transform", "worker", 10, 0).clause).mappings().one()
        job = claimed_job(claimed)
        held = statements.Held.of(job)
        report = JobReport(LeasedWriter(engine), Notifier(redis), Lease(held))
        provider, _ = JobModels(llm).for_job(job, Budget(), report, {})
        for _ in range(times):
            provider.complete(ChatRequest("execution.transform", HELLO))
        with engine.begin() as connection:
            connection.execute(statements.hand_back(held).clause)
        return report

    with closing(redis), layer(scripted_llm, ("groq",), engine) as llm:
        first, second = run(llm, times=2).usage(), run(llm, times=1).usage()
    engine.dispose()

    assert (first["llm_calls"], first["input_tokens"]) == (2, 200)
    assert (second["llm_calls"], second["input_tokens"], second["output_tokens"]) == (3, 300, 30)
    assert float(str(second["cost_usd"])) == pytest.approx(3 * float(str(first["cost_usd"])) / 2)
