"""What the gateway is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.flows.settings import FlowSettings
from shared.llm.settings import CallSettings, ProviderSettings
from shared.settings import JobSettings, StoreSettings


class HttpSettings(BaseSettings):
    """The HTTP side: where it listens and how much it takes."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    host: str = Field("127.0.0.1", description="The address that the gateway listens on")
    port: int = Field(8000, ge=0, le=65535, description="The port that the gateway listens on")
    body_bytes: int = Field(1_000_000, ge=1, description="The largest JSON body")
    large_body_bytes: int = Field(16_000_000, ge=1, description="The largest flow, and the largest ingest of records")
    upload_bytes: int = Field(512_000_000, ge=1, description="The largest uploaded file")
    requests_per_minute: int = Field(60_000, ge=0, description="Requests of one tenant in a minute; 0 is without end")
    queued_per_tenant: int = Field(100_000, ge=1, description="Queued jobs that one tenant may have")
    queued_in_all: int = Field(1_000_000, ge=1, description="Queued jobs of all tenants, then submits answer 503")
    cors_origins: str = Field("", description="Web origins that may call the API, separated by commas; * for any")
    compatibility_key: str = Field("", description="The API key of callers of /api routes that send none (a browser)")
    database_connections: int = Field(10, ge=1, description="Connections to Postgres that one gateway keeps")
    embedded: bool = Field(False, description="Whether all runs on one machine: then detect may read local folders")

    @property
    def origins(self) -> list[str]:
        return [origin.strip() for origin in self.cors_origins.split(",") if origin.strip()]


@dataclass(frozen=True)
class Settings:
    """Everything that the gateway is told."""

    stores: StoreSettings = field(default_factory=partial(StoreSettings))
    http: HttpSettings = field(default_factory=partial(HttpSettings))
    jobs: JobSettings = field(default_factory=partial(JobSettings))
    providers: ProviderSettings = field(default_factory=partial(ProviderSettings))
    calls: CallSettings = field(default_factory=partial(CallSettings))
    flows: FlowSettings = field(default_factory=partial(FlowSettings))
