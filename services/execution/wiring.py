"""The sandbox as this worker uses it: every language of the table, and the program that reads tables."""

from __future__ import annotations

from services.execution.languages.table import language_specs
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.settings import SandboxSettings

_PROGRAMS = ("shared.reading.read",)


def open_sandbox(settings: SandboxSettings) -> Sandbox:
    """Open the sandbox. Raises: SandboxUnavailable."""
    return Sandbox(settings, language_specs(), _PROGRAMS)
