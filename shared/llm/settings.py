"""Which providers there are, from the variables that their own SDKs read too."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.llm.failover import FailoverSettings
from shared.llm.health import BreakerSettings
from shared.llm.providers.endpoint import Endpoint, Wire
from shared.llm.watch import Timeouts


class ProviderSettings(BaseSettings):
    """Model providers: keys and addresses; an empty variable is as good as none."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True)

    groq_api_key: SecretStr | None = Field(None, description="A key of Groq")
    groq_base_url: str | None = Field(None, description="Another address than Groq's own")
    cerebras_api_key: SecretStr | None = Field(None, description="A key of Cerebras")
    cerebras_base_url: str | None = Field(None, description="Another address than Cerebras' own")
    anthropic_api_key: SecretStr | None = Field(None, description="A key of Anthropic")
    anthropic_base_url: str | None = Field(None, description="Another address than Anthropic's own")
    openai_api_key: SecretStr | None = Field(
        None, description="A key of OpenAI or of the endpoint below; also for embeddings"
    )
    openai_base_url: str | None = Field(None, description="Any OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp")
    openai_model: str = Field("gpt-5.4-mini", description="The model asked when no other provider is configured")


class CallSettings(BaseSettings):
    """How model providers are called; seconds."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_LLM_", frozen=True, env_ignore_empty=True)

    connect_seconds: float = Field(3, gt=0, description="To connect to a provider")
    first_token_seconds: float = Field(30, gt=0, description="Until a provider begins to answer")
    idle_seconds: float = Field(15, gt=0, description="Between two pieces of an answer")
    total_seconds: float = Field(120, gt=0, description="For one attempt at one provider")
    patience_seconds: float = Field(15, ge=0, description="The longest wait for a rate limit when nobody else is left")
    hedge_seconds: float | None = Field(None, gt=0, description="Ask the next provider too after this silence")
    breaker_failures: int = Field(3, ge=1, description="Failures in a row that open a provider's breaker")
    breaker_cooldown_seconds: float = Field(30, gt=0, description="How long an open breaker keeps a provider unasked")
    stream: bool = Field(True, description="Read answers as they come, so that a stalled one is noticed")
    recordings: Path | None = Field(None, description="A folder of recorded model calls")
    record: Literal["off", "record", "replay", "auto"] = Field("off", description="What the recordings are for")
    tenant_tokens_per_day: int = Field(0, ge=0, description="Model tokens a tenant may use a day; 0 is without end")

    @property
    def timeouts(self) -> Timeouts:
        return Timeouts(self.connect_seconds, self.first_token_seconds, self.idle_seconds, self.total_seconds)

    @property
    def failover(self) -> FailoverSettings:
        return FailoverSettings(patience=self.patience_seconds, hedge_after=self.hedge_seconds)

    @property
    def breaker(self) -> BreakerSettings:
        return BreakerSettings(failures=self.breaker_failures, cooldown=self.breaker_cooldown_seconds)


_VERSIONS = {"groq": "/openai/v1", "cerebras": "/v1", "anthropic": "/v1"}


def endpoints(providers: ProviderSettings, calls: CallSettings) -> tuple[Endpoint, ...]:
    """All four, the unconfigured ones too."""

    def endpoint(name: Wire, key: SecretStr | None, base_url: str | None) -> Endpoint:
        secret = key.get_secret_value().strip() if key else None
        # The SDKs add the version to the address themselves; many write it all the same.
        address = base_url.rstrip("/").removesuffix(_VERSIONS.get(name, "")) if base_url else None
        return Endpoint(name, name, secret or None, address, calls.timeouts, calls.stream)

    return (
        endpoint("groq", providers.groq_api_key, providers.groq_base_url),
        endpoint("cerebras", providers.cerebras_api_key, providers.cerebras_base_url),
        endpoint("anthropic", providers.anthropic_api_key, providers.anthropic_base_url),
        endpoint("openai", providers.openai_api_key, providers.openai_base_url),
    )
