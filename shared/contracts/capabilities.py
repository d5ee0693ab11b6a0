"""What this installation can do right now, and why not the rest."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer

KindReadiness = TypeAliasType(
    "KindReadiness",
    Annotated[
        Literal["ready", "degraded", "needs_provider", "no_worker"],
        Field(description="Whether jobs of a kind can run; `degraded`: only some of them"),
    ],
)
DependencyHealth = TypeAliasType(
    "DependencyHealth",
    Annotated[Literal["ok", "degraded"], Field(description="Whether a dependency answers as it should")],
)


class KindState(Answer):
    """Whether jobs of one kind can run now."""

    state: KindReadiness
    """State of the kind"""
    reason: str | None = None
    """Why the kind is not ready; null if it is"""


class LanguageState(Answer):
    """Whether code of one language can run."""

    available: bool
    """Whether the runtime is installed on the execution workers"""
    version: str | None = None
    """Version of the runtime; null if it is not available"""
    reason: str | None = None
    """Why the language is not available; null if it is"""


class IsolationState(Answer):
    """Isolation of the execution workers."""

    tier: str
    """Isolation tier that the workers verified; `none` while no worker reports"""
    minimum: str
    """Weakest tier that the operator accepts (`ASSAY_SANDBOX_MINIMUM`)"""
    claimed: str | None = None
    """Stronger tier that the operator claims and Assay has not verified; null if none is claimed"""


class ModelState(Answer):
    """A model of the configured chains, with the features that its server reported or an endpoint test found."""

    provider: str
    """Provider that serves the model"""
    model: str
    """Model name, as the provider spells it"""
    window: int | None
    """Context window in tokens, for prompt and answer together; null if unknown"""
    tokenizer: bool
    """Whether the server counts the tokens of a text itself"""
    takes: list[str]
    """Features that a test found supported: `schema`, `tools`, `images`, `system`, `stream_usage`"""
    refuses: list[str]
    """Features that a test found unsupported; a feature in neither list was not tested"""


class DependencyState(Answer):
    """State of a server that the gateway needs."""

    state: DependencyHealth
    """Whether the dependency answers as it should"""
    reason: str | None = None
    """Why the dependency is degraded; null if it is ok"""


class Capabilities(Answer):
    """What this installation can do now."""

    version: str | None = Field(default=None, examples=["0.1.0"])
    """Version of the server's release"""
    kinds: dict[str, KindState]
    """State of each job kind, by name"""
    languages: dict[str, LanguageState]
    """State of each language that code can be written in, by name"""
    isolation: IsolationState
    """Isolation of the execution workers"""
    models: list[ModelState] = []
    """Models that the chains name and whose provider is configured"""


class Health(Answer):
    """Whether the process is alive."""

    status: str
    """`ok`"""


class Readiness(Answer):
    """Whether the gateway can serve requests."""

    status: str
    """`ok`, or `degraded` while a dependency does not answer"""
    isolation: IsolationState
    """Isolation of the execution workers"""
    dependencies: dict[str, DependencyState]
    """State of `postgres`, `redis`, `files`, of `qdrant` if it is a server, of `large_bodies` if their reader fails"""
