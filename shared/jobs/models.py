"""How a worker calls models: itself, with the providers' keys, or through the broker, without any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlalchemy import Engine

from shared.jobs.job import Job
from shared.jobs.running.report import JobReport
from shared.jobs.running.runner import ModelAccess
from shared.llm.broker_client import BrokerClient, BrokeredModels, BrokerSettings
from shared.llm.chat import Prompts, Provider
from shared.llm.job import JobAccount, JobLlm
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.prompts import PromptRegistry
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget

#: Parameters of a reproducible job's calls; one seed for all, so that two such jobs make equal calls.
REPRODUCIBLE: Mapping[str, JsonValue] = {"temperature": 0, "seed": 1}


def open_models(engine: Engine, redis_url: str) -> ModelAccess:
    broker = BrokerSettings().url
    if broker is not None:
        return BrokeredJobModels(BrokerClient(broker), PromptRegistry(engine))
    return JobModels(LlmLayer(ProviderSettings(), CallSettings(), engine, redis_url))


@dataclass(frozen=True)
class JobModels:
    """Calls models itself, with the providers' keys."""

    layer: LlmLayer

    def for_job(
        self, job: Job, budget: Budget, report: JobReport, overrides: Mapping[str, JsonValue]
    ) -> tuple[Provider, Prompts]:
        models = self.layer.for_job(
            _owner(job), budget, report.event, report.lease.cancelled.is_set, selector_of(overrides)
        )
        return _counted(models, job, report, overrides), _pinned(self.layer.prompts, overrides)

    def load(self, role: str) -> None:
        self.layer.load(role)


@dataclass(frozen=True)
class BrokeredJobModels:
    """Calls models through the broker: this process holds no keys."""

    client: BrokerClient
    prompts: PromptRegistry

    def for_job(
        self, job: Job, budget: Budget, report: JobReport, overrides: Mapping[str, JsonValue]
    ) -> tuple[Provider, Prompts]:
        account = JobAccount(_owner(job), None, budget, report.event)
        lease = report.lease
        brokered = BrokeredModels(self.client, lease.model_token, account.add, lease.cancelled.is_set)
        models = JobLlm(account, brokered, selector_of(overrides), brokered.links)
        return _counted(models, job, report, overrides), _pinned(self.prompts, overrides)

    def load(self, role: str) -> None:
        """Do nothing: the broker has loaded what its roles need."""


def selector_of(overrides: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the model that the job names."""
    model = overrides.get("model")
    return (str(model),) if model else ()


def _owner(job: Job) -> Owner:
    return Owner(job.tenant_id, job.id, job.attempt)


def _counted(models: JobLlm, job: Job, report: JobReport, overrides: Mapping[str, JsonValue]) -> JobLlm:
    report.models = models.usage
    report.earlier_runs = job.attempt > 1
    return replace(models, parameters=REPRODUCIBLE if overrides.get("reproducible") else {}, warn=report.warn)


def _pinned(prompts: PromptRegistry, overrides: Mapping[str, JsonValue]) -> Prompts:
    """Versions by key (of an evaluation), or one for the prompts that are named like roles (of a replay)."""
    version, versions = overrides.get("prompt_version"), overrides.get("prompts")
    given = versions if isinstance(versions, dict) else {}
    named = {key: pinned for key, pinned in given.items() if isinstance(pinned, int)}
    return prompts.pinned(version if isinstance(version, int) else None, named)
