"""How a model edits flows."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class EditSettings(BaseSettings):
    """Edits of flows by a model."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_FLOWS_", frozen=True)

    state_tokens: int = Field(12_000, ge=200, description="Tokens of flow state that a model is sent, about")
    native_tools: bool = Field(False, description="Offer the tools natively too, next to the tagged answer")
    answer_tokens: int = Field(8_192, ge=256, description="Tokens that a model may answer with")
