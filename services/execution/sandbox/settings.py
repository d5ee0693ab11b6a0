"""How the sandbox of this worker is built; read once, passed down."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.execution.sandbox.run import Tier


class SandboxSettings(BaseSettings):
    """The sandbox of the execution worker."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_SANDBOX_", frozen=True, populate_by_name=True)

    runtime: Literal["namespaces", "gvisor"] = Field(
        "namespaces",
        description="What runs the code: namespaces of this machine's kernel, or gVisor, a kernel for each run",
    )
    runsc: Path | None = Field(None, description="Another runsc, of gVisor, than the one on the path")
    minimum: Tier = Field(
        "ns",
        validation_alias=AliasChoices("ASSAY_SANDBOX_MINIMUM", "ASSAY_SANDBOX_MIN_TIER"),
        description="The weakest isolation that code may run under: ns, gvisor or microvm",
    )
    claimed_tier: Literal["ns", "microvm"] = Field(
        "ns",
        description="What the operator puts around this worker: microvm when a micro virtual machine runs it. It is not"
        " verified, and shown as claimed everywhere",
    )
    slots: int = Field(2, ge=1, le=64, description="Warm containers kept ready per warm language")
    uid: int = Field(63_001, ge=1000, lt=65_534, description="As root: the user id that everything inside runs under")
    packages: Path | None = Field(
        None, description="A folder of Python packages for the code instead of the worker's own"
    )
    bubblewrap: Path | None = Field(None, description="Another bwrap than the one of the wheel")
    max_age_seconds: float = Field(600, gt=0, description="A warm container older than this is replaced")
    session_idle_seconds: float = Field(600, gt=0, description="A session unused for this long is closed")
    sessions: int = Field(8, ge=0, description="Interpreters that wait for a job that continues their session")
    cgroups: bool = Field(True, description="Use control groups where this process may write them")
