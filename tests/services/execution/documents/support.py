"""A document job without a server: scripted answers, files in memory, the real sandbox."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from services.execution.documents.document import Documents
from services.execution.documents.resolve.renderer import Renderer
from services.execution.sandbox.host.sandbox import Sandbox
from shared.contracts.document import Block, DocumentInput, DocumentResult
from shared.jobs.job import FinishedJob
from shared.loop import Budget
from tests.support.context import MemoryContext, MemoryFiles, MemoryReport, Script, ScriptedProvider

ROLE = "documents.instruction"


@dataclass
class Past:
    jobs: dict[str, FinishedJob] = field(default_factory=dict)

    def of(self, job_id: str) -> FinishedJob | None:
        return self.jobs.get(job_id)

    def latest(self, kind: str) -> FinishedJob | None:
        return None


@dataclass
class DocumentJobs:
    sandbox: Sandbox = field(repr=False)
    renderer: Renderer = field(repr=False)
    files: MemoryFiles = field(default_factory=MemoryFiles, repr=False)
    past: Past = field(default_factory=Past, repr=False)
    llm: ScriptedProvider = field(default_factory=ScriptedProvider)
    report: MemoryReport = field(default_factory=MemoryReport)

    def run(
        self,
        markdown: str,
        answer: Script | None = "An answer.",
        budget: Budget | None = None,
        report: MemoryReport | None = None,
        **wanted: object,
    ) -> DocumentResult:
        """Run one job; ``answer`` None means that no provider is configured."""
        self.llm = ScriptedProvider({} if answer is None else {ROLE: answer})
        self.report = report or MemoryReport()
        memory = MemoryContext(llm=self.llm, report=self.report, files=self.files, budget=budget or Budget())
        context = replace(memory.context("document"), results=self.past)
        request = DocumentInput.model_validate({"markdown": markdown, **wanted})
        return Documents(self.sandbox, self.renderer)(context, request)

    def keep(self, job_id: str, result: DocumentResult) -> None:
        """The job has succeeded and can be built on."""
        kept: dict[str, JsonValue] = result.model_dump(mode="json")
        self.past.jobs[job_id] = FinishedJob(job_id, "document", {}, kept)

    def sent(self) -> list[str]:
        """Return the prompts of the models, without the system's words."""
        return [request.messages[-1].content for request in self.llm.requests]


@dataclass
class Ending(MemoryReport):
    """The budget has only ``seconds`` left from the moment in which a block begins."""

    budget: Budget = field(default_factory=Budget)
    block: str = ""
    seconds: float = 0

    def event(self, type: str, **data: JsonValue) -> None:
        super().event(type, **data)
        if type == "block_started" and data["block_id"] == self.block:
            self.budget.seconds = time.monotonic() - self.budget.started + self.seconds


def block(result: DocumentResult, identity: str) -> Block:
    return next(one for one in result.blocks if one.id == identity)


def codes(one: Block) -> list[str]:
    return [message.code for message in one.messages]


def python(code: str) -> str:
    return f"```python exec\n{code}\n```\n"
