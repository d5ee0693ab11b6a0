"""What ``assay up`` reads from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class HostSettings(BaseSettings):
    """One installation on one machine."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    home: Path = Field(Path(".assay"), description="Data, logs and credentials of this installation")
    host: str = Field("127.0.0.1", description="The address that the gateway listens on")
    port: int = Field(8000, ge=0, le=65535, description="The port that the gateway listens on; 0 takes a free one")
    replicas: str = Field("", description="How many of which process, for example `execution=2,flows=1`")


class ServerSettings(BaseSettings):
    """Servers that are already there; without them, embedded ones are started."""

    model_config = SettingsConfigDict(frozen=True)

    database_url: str | None = Field(None, description="A Postgres server; without it an embedded one is started")
    redis_url: str | None = Field(None, description="A Redis server; without it an embedded one is started")
    qdrant_url: str | None = Field(None, description="A Qdrant server; without it the embedded engine is used")
    blob_url: str | None = Field(None, description="Where file contents are kept; without it a folder of the home")
