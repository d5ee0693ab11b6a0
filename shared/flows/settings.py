"""How much of a flow's past is kept."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class FlowSettings(BaseSettings):
    """How much of a flow's past is kept."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    undo_depth: int = Field(200, ge=1, le=10_000, description="Changes of a flow that can be undone")
    flow_versions: int = Field(2_000, ge=1, description="Versions of a flow that can be looked up; named ones stay")
