"""What this installation can do right now, and why not the rest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shared.contracts.common import Answer


class KindState(Answer):
    state: Literal["ready", "degraded", "needs_provider", "no_worker"]
    reason: str | None = None


class LanguageState(Answer):
    available: bool
    version: str | None = None
    reason: str | None = None


class IsolationState(Answer):
    tier: str
    minimum: str
    claimed: str | None = None


class ModelState(Answer):
    """A model that jobs ask, as far as its server tells and `POST /v1/endpoints/{name}/test` has tried."""

    provider: str
    model: str
    window: int | None  #: tokens of prompt and answer; null: not known
    tokenizer: bool  #: its server counts the tokens of a text itself
    takes: list[str]  #: of schema, tools, images, system, stream_usage: what it was found to take
    refuses: list[str]  #: and what not; in neither list: not tried


class DependencyState(Answer):
    """Something that the gateway needs: it answers as it should, or not, and then why."""

    state: Literal["ok", "degraded"]
    reason: str | None = None


class Capabilities(Answer):
    version: str | None = Field(default=None, description="Of the server: that of its release", examples=["0.1.0"])
    kinds: dict[str, KindState]
    languages: dict[str, LanguageState]
    isolation: IsolationState
    models: list[ModelState] = []  #: that the chains name and whose provider is configured
