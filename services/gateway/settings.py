"""Settings of the gateway."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from pydantic import Field
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.contracts.operations import SettingState
from shared.flows.settings import FlowSettings
from shared.llm.settings import CallSettings, ProviderSettings
from shared.settings import JobSettings, StoreSettings


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


class HttpSettings(BaseSettings):
    """The HTTP side: where it listens and how much it takes."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    host: str = Field("127.0.0.1", description="The address that the gateway listens on")
    port: int = Field(8000, ge=0, le=65535, description="The port that the gateway listens on")
    body_bytes: int = Field(1_000_000, ge=1, description="The largest JSON body")
    large_body_bytes: int = Field(16_000_000, ge=1, description="The largest flow, and the largest ingest of records")
    large_body_processes: int = Field(2, ge=1, description="Processes that read bodies above 64 kB, one at a time each")
    large_body_memory_mb: int = Field(768, ge=256, description="Memory that each of them may use; more ends it")
    table_processes: int = Field(4, ge=1, description="Tables of results that are written as CSV, Excel ... at once")
    table_memory_mb: int = Field(1024, ge=768, description="Memory that a process which writes one may use")
    upload_bytes: int = Field(512_000_000, ge=1, description="The largest uploaded file")
    requests_per_minute: int = Field(60_000, ge=0, description="Requests of one tenant in a minute; 0 is unlimited")
    queued_per_tenant: int = Field(100_000, ge=1, description="Queued jobs that one tenant may have")
    queued_in_all: int = Field(1_000_000, ge=1, description="Queued jobs of all tenants, then submits answer 503")
    wrong_keys_per_minute: int = Field(60, ge=1, description="Unknown keys of one address in a minute, then it waits")
    streams_per_key: int = Field(100, ge=1, description="Event streams that one key may have open at one gateway")
    mcp_calls_per_key: int = Field(
        100, ge=1, description="Requests to /mcp that one key may have in progress at one gateway"
    )
    key_days: float = Field(0, ge=0, description="How long a key is good that is made without an end; 0 is for ever")
    head_seconds: float = Field(10, gt=0, description="How long the head of a request may take to come")
    idle_seconds: int = Field(75, ge=1, description="How long a connection may be silent between requests")
    body_pause_seconds: float = Field(30, gt=0, description="How long a body that is being sent may pause")
    answer_pause_seconds: float = Field(60, gt=0, description="How long a client may read nothing of its answer")
    trusted_proxies: str = Field(
        "", description="Addresses or networks, separated by commas, whose X-Forwarded-For and -Proto are believed"
    )
    cors_origins: str = Field("", description="Web origins that may call the API, separated by commas; * for any")
    compatibility_key: str = Field("", description="The API key of callers of /api routes that send none (a browser)")
    compatibility_hosts: str = Field(
        "localhost,127.0.0.1,[::1]", description="Names by which such a browser may address the gateway"
    )
    detect_roots: str = Field(
        "", description="Folders, separated by colons, of which detect may read local paths, for keys with admin"
    )
    database_connections: int = Field(9, ge=1, description="Connections to Postgres for the requests of one gateway")
    console: bool = Field(True, description="Whether the console is built and served; `off` leaves it out")
    embedded: bool = Field(False, description="Whether all runs on one machine: then detect may read local folders")

    @property
    def origins(self) -> list[str]:
        return _listed(self.cors_origins)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the gateway."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def readable_roots(self) -> list[Path]:
        return [Path(root).resolve() for root in self.detect_roots.split(":") if root]

    @property
    def browser_hosts(self) -> list[str]:
        """Host names, without ports, of callers that the compatibility key represents."""
        return _listed(self.compatibility_hosts)


@dataclass(frozen=True)
class Settings:
    """All settings of the gateway."""

    stores: StoreSettings = field(default_factory=partial(StoreSettings))
    http: HttpSettings = field(default_factory=partial(HttpSettings))
    jobs: JobSettings = field(default_factory=partial(JobSettings))
    providers: ProviderSettings = field(default_factory=partial(ProviderSettings))
    calls: CallSettings = field(default_factory=partial(CallSettings))
    flows: FlowSettings = field(default_factory=partial(FlowSettings))


#: Text without secrets and machine paths. All other text may hold some: only its source is shown.
_PLAIN_TEXT = frozenset({"host", "trusted_proxies", "cors_origins", "compatibility_hosts"})


def effective(settings: Settings) -> Iterator[SettingState]:
    """Yield the settings of the gateway's settings classes, in order."""
    for group in fields(settings):
        owner = getattr(settings, group.name)
        if isinstance(owner, BaseSettings):
            prefix = owner.model_config.get("env_prefix", "")
            for name, each in type(owner).model_fields.items():
                yield _state(owner, name, f"{prefix}{name}".upper(), each)


def _state(owner: BaseSettings, name: str, variable: str, described: FieldInfo) -> SettingState:
    value = getattr(owner, name)
    plain = isinstance(value, (bool, int, float)) or value is None or name in _PLAIN_TEXT
    return SettingState(
        name=variable,
        value=value if plain else None,
        told=plain,
        source="environment" if name in owner.model_fields_set else "default",
        description=described.description or "",
    )
