"""The settings of search."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.contracts.search import DEFAULT_EMBEDDING


class SearchSettings(BaseSettings):
    """Search and its embeddings."""

    model_config = SettingsConfigDict(frozen=True, env_prefix="ASSAY_")

    home: Path = Field(Path(".assay"), description="Where the embedded store and the built embedding model are kept")
    embedding: str = Field(
        DEFAULT_EMBEDDING,
        description="Embedding of collections that name none: auto, minilm, multilingual, openai:MODEL, none",
    )
    embedding_threads: int = Field(2, ge=1, le=64, description="Threads that embed")
    search_seconds: float = Field(30, gt=0, description="After this a search answers with what it has")
    search_model_seconds: float = Field(12, gt=0, description="What one question to a model may take")
    search_reflection: bool = Field(True, description="Whether a model is called when a search finds nothing")


class EmbeddingServer(BaseSettings):
    """The OpenAI-compatible server that embeds for ``openai:MODEL``."""

    model_config = SettingsConfigDict(frozen=True, env_prefix="OPENAI_")

    api_key: str = Field("", description="Key of the embedding server")
    base_url: str = Field("", description="Base URL of the embedding server; OpenAI's own when only a key is given")


class QdrantSettings(BaseSettings):
    """A Qdrant server, when ``QDRANT_URL`` names one."""

    model_config = SettingsConfigDict(frozen=True, env_prefix="QDRANT_")

    url: str | None = Field(None, description="A Qdrant server; without it the embedded engine is used")
    api_key: str | None = Field(None, description="Key of the Qdrant server")
    replication_factor: int = Field(1, ge=1, description="Nodes of a Qdrant cluster that hold each new table")
    shard_number: int = Field(1, ge=1, description="Shards of each new table in a Qdrant cluster")
