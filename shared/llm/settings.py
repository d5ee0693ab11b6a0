"""Which providers are configured, from the variables that their own SDKs read too, and how they are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.llm.breaker import BreakerSettings
from shared.llm.call_clock import Timeouts
from shared.llm.failover import FailoverSettings
from shared.llm.vendors.spec import EnvironmentVariable, VendorSpec
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint, own_machine
from shared.pasted import bare

_OWN_IDLE = 60.0  #: seconds between two pieces of an answer of a self-hosted server


@dataclass(frozen=True)
class ProviderSettings:
    """Model providers: keys and addresses; an empty variable is as good as none."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)

    def value(self, variable: EnvironmentVariable) -> str | None:
        return bare(self.environment.get(variable.name, "")) or variable.default or None


class CallSettings(BaseSettings):
    """How model providers are called; seconds."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_LLM_", frozen=True, env_ignore_empty=True)

    connect_seconds: float = Field(3, gt=0, description="To connect to a provider")
    first_token_seconds: float = Field(30, gt=0, description="Until a provider begins to answer")
    idle_seconds: float = Field(15, gt=0, description="Between two pieces of an answer")
    total_seconds: float = Field(120, gt=0, description="For one attempt at one provider")
    patience_seconds: float = Field(15, ge=0, description="The longest wait for the last provider's rate limit")
    starting_seconds: float = Field(
        300, ge=0, description="The longest wait for a server that loads its model, when no other provider answers"
    )
    hedge_seconds: float | None = Field(
        None, gt=0, description="Seconds without an answer after which the next provider is called too"
    )
    breaker_failures: int = Field(3, ge=1, description="Failures in a row that open a provider's breaker")
    breaker_cooldown_seconds: float = Field(30, gt=0, description="How long an open breaker keeps a provider unasked")
    stream: bool = Field(True, description="Read answers as they come, so that a stalled one is noticed")
    recordings: Path | None = Field(None, description="A folder of recorded model calls")
    record: Literal["off", "record", "replay", "auto"] = Field("off", description="What the recordings are for")
    endpoints: Path | None = Field(
        None, description="A YAML file of named endpoints: a name with `url`, `key_env`, `concurrency` and so on each"
    )
    private_endpoints: bool = Field(
        False, description="Allow endpoints at http and at private addresses to be added by API; `assay up` does"
    )
    tenant_models: str = Field(
        "*",
        description="Models that a tenant without its own list may use: patterns like `groq/*`, separated by commas",
    )
    tenant_tokens_per_day: int = Field(100_000_000, ge=0, description="Model tokens of a tenant in a day (UTC); 0: any")

    texts: Literal["off", "failed", "all"] = Field(
        "off",
        description="Of which model calls the messages and the answer are kept, to be read and tried again; "
        "`assay up` keeps all",
    )

    @property
    def allowed_models(self) -> tuple[str, ...]:
        return tuple(pattern.strip() for pattern in self.tenant_models.split(",") if pattern.strip())

    @property
    def timeouts(self) -> Timeouts:
        return Timeouts(self.connect_seconds, self.first_token_seconds, self.idle_seconds, self.total_seconds)

    @property
    def own_timeouts(self) -> Timeouts:
        """Return the timeouts of a self-hosted server, as far as they are not set.

        Such a server may have one slot, so earlier requests delay the first token. It may also share its processors:
        llama.cpp was silent for a quarter of a minute.
        """
        given = self.timeouts
        if "first_token_seconds" not in self.model_fields_set:
            given = replace(given, first_token=given.total)
        if "idle_seconds" not in self.model_fields_set:
            given = replace(given, idle=min(_OWN_IDLE, given.total))
        return given

    @property
    def failover(self) -> FailoverSettings:
        return FailoverSettings(
            patience=self.patience_seconds, starting=self.starting_seconds, hedge_after=self.hedge_seconds
        )

    @property
    def breaker(self) -> BreakerSettings:
        return BreakerSettings(failures=self.breaker_failures, cooldown=self.breaker_cooldown_seconds)


def endpoints(providers: ProviderSettings, calls: CallSettings) -> tuple[Endpoint, ...]:
    """Return every vendor of the table, including unconfigured ones."""
    return tuple(_endpoint(vendor, providers, calls) for vendor in VENDORS.values())


def _endpoint(vendor: VendorSpec, providers: ProviderSettings, calls: CallSettings) -> Endpoint:
    variables = vendor.variables
    base_url = providers.value(variables.base_url)
    timeouts = calls.own_timeouts if base_url and own_machine(base_url) else calls.timeouts
    return Endpoint(
        name=vendor.name,
        api_key=providers.value(variables.api_key),
        # The SDKs add the version to the address themselves; many people write it too.
        base_url=base_url.rstrip("/").removesuffix(vendor.version) if base_url else None,
        model=providers.value(variables.model) if variables.model else None,
        timeouts=timeouts,
        stream=calls.stream,
        needs_key=not vendor.keyless,
    )
