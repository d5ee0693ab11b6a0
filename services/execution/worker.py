"""The execution worker: execute, transform and document, in one sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

from pydantic import BaseModel, JsonValue

from services.execution import metrics
from services.execution.documents.document import Documents
from services.execution.documents.resolve.renderer import Renderer
from services.execution.execute import Execute
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.sessions import Interpreters
from services.execution.wiring import open_sandbox
from shared.contracts.transform import TransformInput
from shared.errors import SandboxUnavailable
from shared.jobs.job import Capability, Context
from shared.jobs.worker import open_worker
from shared.plugins import load_plugins
from shared.settings import PluginSettings

_INSTALL = "it is not installed on the execution worker; scripts/install-optional installs it on Debian"


def main() -> None:
    load_plugins(PluginSettings().modules)
    settings = SandboxSettings()
    try:
        sandbox = open_sandbox(settings)
    except SandboxUnavailable as fault:
        # Fail closed: nothing is consumed, and the reason is shown.
        refused: Mapping[str, JsonValue] = {
            "isolation": {"tier": "none", "minimum": settings.minimum},
            "unavailable": fault.detail,
        }
        open_worker("execution", facts=lambda: refused).stand_by(fault.detail)
        return
    with sandbox, Interpreters(sandbox, settings.sessions) as interpreters, Renderer() as renderer:
        worker = open_worker("execution", facts=lambda: _facts(sandbox, settings))
        metrics.watch(sandbox)
        worker.serve("execute", Execute(sandbox, interpreters))
        worker.serve("transform", _Transform(sandbox))
        worker.serve("document", Documents(sandbox, renderer))
        worker.run()


@dataclass(frozen=True)
class _Transform:
    """``Transform``, whose libraries for tables take 30 MB: loaded for the first job of the kind."""

    sandbox: Sandbox

    @cached_property
    def _capability(self) -> Capability[TransformInput]:
        from services.execution.transform.transform import Transform  # noqa: PLC0415

        return Transform(self.sandbox)

    def __call__(self, context: Context, request: TransformInput) -> BaseModel:
        return self._capability(context, request)


def _facts(sandbox: Sandbox, settings: SandboxSettings) -> Mapping[str, JsonValue]:
    languages: dict[str, JsonValue] = {
        name: {"available": version is not None, "version": version, "reason": None if version else _INSTALL}
        for name, version in sandbox.languages().items()
    }
    return {"isolation": {**asdict(sandbox.isolation), "minimum": settings.minimum}, "languages": languages}
