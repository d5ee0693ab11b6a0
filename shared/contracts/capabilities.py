"""What this installation can do right now, and why not the rest."""

from __future__ import annotations

from typing import Literal

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


class DependencyState(Answer):
    """Something that the gateway needs: it answers as it should, or not, and then why."""

    state: Literal["ok", "degraded"]
    reason: str | None = None


class Capabilities(Answer):
    kinds: dict[str, KindState]
    languages: dict[str, LanguageState]
    isolation: IsolationState
