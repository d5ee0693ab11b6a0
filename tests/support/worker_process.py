"""A worker process for the reliability tests: real Celery, real leases, and a capability that does what the code says.

``python -m tests.support.worker_process``; the ``code`` of an execute job is a list of words:
``sleep 0.5``, ``crash`` (the process dies), ``fail``, ``event``, ``effect`` (one row in ``effects`` per completed job),
``corrected`` (an effect that changes the result), ``judged`` (the result has a verdict).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping

from pydantic import BaseModel, JsonValue
from sqlalchemy import Connection, text

from shared import blobs, db, logs
from shared.contracts.execute import ExecuteInput
from shared.errors import JobCancelled, UserCodeFailed
from shared.jobs.job import Context, Job
from shared.jobs.running.report import JobReport
from shared.jobs.running.runner import Stores
from shared.jobs.worker import Worker
from shared.kinds import KINDS
from shared.llm.chat import ChatReply, ChatRequest, RenderedPrompt
from shared.loop import Budget
from shared.redis_urls import client
from shared.settings import JobSettings, StoreSettings


class Result(BaseModel):
    said: str


class Judged(Result):
    verdict: str = "ok"


def obey(context: Context, request: ExecuteInput) -> Result:
    words = iter(request.code.split())
    for word in words:
        if word in _WORDS:
            _WORDS[word](context)
        elif word == "sleep" and context.cancelled.wait(float(next(words))):
            raise JobCancelled("told to stop")
        elif word == "deaf":  # does not listen to cancellations, and no other thread can interrupt it
            time.sleep(float(next(words)))
        elif word == "burn":  # computes, and does not listen either
            ends = time.monotonic() + float(next(words))
            while time.monotonic() < ends:
                pass
    return (Judged if "judged" in request.code.split() else Result)(said=request.code)


def _endless(context: Context, request: BaseModel) -> Result:
    """Compute for ever, and listen to nothing."""
    while True:
        sum(range(1000))


def _fail(context: Context) -> None:
    raise UserCodeFailed("as told")


def _bug(context: Context) -> None:
    raise ZeroDivisionError("a secret of ours")


_WORDS: Mapping[str, Callable[[Context], None]] = {
    "crash": lambda context: os.kill(os.getpid(), signal.SIGKILL),
    "fail": _fail,
    "bug": _bug,
    "event": lambda context: context.report.thinking("hello"),
    "effect": lambda context: context.report.effect(lambda connection: _count(connection, context.job.id)),
    "corrected": lambda context: context.report.effect(lambda connection: {"said": "otherwise\0"}),
    "refused-effect": lambda context: context.report.effect(lambda connection: _fail(context)),
    "remember": lambda context: context.report.remember("question", "answer"),
}


def _count(connection: Connection, job_id: str) -> None:
    connection.execute(text("INSERT INTO effects (job_id) VALUES (:id)"), {"id": job_id})


class NoModels:
    """For capabilities that call no model."""

    name = "none"

    def for_job(
        self, job: Job, budget: Budget, report: JobReport, overrides: Mapping[str, JsonValue]
    ) -> tuple[NoModels, NoModels]:
        return self, self

    def load(self, role: str) -> None:
        """There is none to load."""

    def complete(self, request: ChatRequest) -> ChatReply:
        raise AssertionError("no model is asked here")

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        raise AssertionError("no prompt is rendered here")


def main() -> None:
    logs.configure("test")
    stores, settings = StoreSettings(), JobSettings()
    redis = client(stores.redis_url, socket_timeout=2, socket_connect_timeout=1)
    connected = Stores(db.connect(stores.database_url), redis, blobs.open_store(stores.blob_url), NoModels())
    worker = Worker("execution", connected, settings, stores.redis_url, version="test")
    worker.serve("execute", obey)
    if "ALSO_TRANSFORMS" in os.environ:
        worker.serve("transform", lambda context, request: Result(said="done"))
    if "ENDLESS" in os.environ:
        for kind in KINDS.keys() - {"execute"}:
            worker.serve(kind, _endless)
    worker.run()


if __name__ == "__main__":
    main()
