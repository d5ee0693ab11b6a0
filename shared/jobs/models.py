"""The LLM layer of a process, bound to one job at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from shared.jobs.job import Job
from shared.jobs.report import JobReport
from shared.llm.chat import Prompts, Provider
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.loop import Budget


@dataclass(frozen=True)
class JobModels:
    """See ``shared.jobs.runner.Models``."""

    layer: LlmLayer

    def for_job(
        self, job: Job, budget: Budget, report: JobReport, overrides: Mapping[str, JsonValue]
    ) -> tuple[Provider, Prompts]:
        model, version = overrides.get("model"), overrides.get("prompt_version")
        models = self.layer.for_job(
            Owner(job.tenant_id, job.id, job.attempt),
            budget,
            report.event,
            report.held.cancelled.is_set,
            (str(model),) if model else (),
        )
        report.models = models.usage
        report.earlier_runs = job.attempt > 1
        return models, self.layer.prompts.pinned(version if isinstance(version, int) else None)
