"""How a worker process is put together: settings are read once, here, and passed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue
from redis import Redis

from shared import VERSION, blobs, db, logs
from shared.jobs.job import Job
from shared.jobs.report import JobReport
from shared.jobs.runner import Stores
from shared.jobs.worker import Facts, Worker
from shared.llm.chat import Prompts, Provider
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from shared.settings import JobSettings, StoreSettings


def open_stores(settings: StoreSettings, connections: int) -> Stores:
    """Connect to everything a worker needs; no server is contacted before the first job."""
    engine = db.connect(settings.database_url, connections)
    redis = Redis.from_url(settings.redis_url, socket_timeout=2, socket_connect_timeout=1)
    layer = LlmLayer(ProviderSettings(), CallSettings(), engine, settings.redis_url)
    return Stores(engine, redis, blobs.open_store(settings.blob_url), JobModels(layer))


def open_worker(service: str, facts: Facts = dict) -> Worker:
    """A worker of a service, ready for ``serve`` and ``run``."""
    logs.configure(service)
    settings, where = JobSettings(), StoreSettings()
    # A job holds a connection only while it reads or writes; heartbeats and claims need theirs too.
    stores = open_stores(where, settings.concurrency + 3)
    return Worker(service, stores, settings, where.redis_url, VERSION, facts)


@dataclass(frozen=True)
class JobModels:
    """See ``shared.jobs.runner.ModelAccess``."""

    layer: LlmLayer

    def for_job(
        self, job: Job, budget: Budget, report: JobReport, overrides: Mapping[str, JsonValue]
    ) -> tuple[Provider, Prompts]:
        model, version = overrides.get("model"), overrides.get("prompt_version")
        models = self.layer.for_job(
            Owner(job.tenant_id, job.id, job.attempt),
            budget,
            report.event,
            report.lease.cancelled.is_set,
            (str(model),) if model else (),
        )
        report.models = models.usage
        report.earlier_runs = job.attempt > 1
        return models, self.layer.prompts.pinned(version if isinstance(version, int) else None)

    def load(self, role: str) -> None:
        self.layer.load(role)
