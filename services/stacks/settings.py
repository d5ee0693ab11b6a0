"""What an operator may set for detection; read once in ``worker.py`` and passed down."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.stacks.sources.collector import SourceLimits
from services.stacks.sources.git_process import GitLimits


class StacksSettings(BaseSettings):
    """Detection: how large a source may be, and where it may come from."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_STACKS_", frozen=True, env_ignore_empty=True)

    max_entries: int = Field(1_000_000, ge=1, description="Files and folders of a source; beyond it, source_too_large")
    max_unpacked_gb: float = Field(10, gt=0, description="What an archive may unpack to; beyond it, source_too_large")
    git_seconds: float = Field(120, gt=0, description="How long fetching a git source may take")
    git_mb: int = Field(2048, ge=1, description="How much a git source may take on disk while it is read")
    git_private_hosts: bool = Field(False, description="Allow git sources on private addresses")
    git_ca_file: Path | None = Field(None, description="Certificates that git trusts in place of the system's")
    local_paths: bool = Field(True, description="Read local folders, which the gateway allows on one machine only")
    cache_entries: int = Field(256, ge=0, description="Results kept in memory, by tree and rule set")

    @property
    def git_limits(self) -> GitLimits:
        return GitLimits(self.git_seconds, self.git_mb, self.git_private_hosts, self.git_ca_file)

    @property
    def limits(self) -> SourceLimits:
        return SourceLimits(entries=self.max_entries, unpacked_bytes=int(self.max_unpacked_gb * (1 << 30)))
