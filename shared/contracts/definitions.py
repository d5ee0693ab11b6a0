"""A tenant's own technologies: what they are, the versions of the set, and what is proposed for it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from shared.contracts.common import Answer, Request, Time

Kind = Literal["language", "build_system", "package_manager", "framework", "runtime", "orchestrator"]
#: Beyond this a definition file is no list of technologies.
MOST_BYTES = 256 << 10
MOST_DEFINITIONS = 200

DefinitionId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Pattern = Annotated[str, Field(min_length=1, max_length=200)]


class DependencyRule(Request):
    """A package name as its registry spells it; ``ecosystem`` is npm, pypi, cargo, go, maven, gem, composer, ..."""

    ecosystem: Annotated[str, Field(min_length=1, max_length=40)]
    name: Annotated[str, Field(min_length=1, max_length=200)]


class Definition(Request):
    """A caller's own technology: the files or dependencies that prove it."""

    id: DefinitionId
    kind: Kind
    name: Annotated[str, Field(min_length=1, max_length=100)]
    files: Annotated[list[Pattern], Field(max_length=50)] = []
    dependencies: Annotated[list[DependencyRule], Field(max_length=50)] = []
    weight: Annotated[float, Field(gt=0, le=1)] = 0.9

    @model_validator(mode="after")
    def _provable(self) -> Self:
        if not self.files and not self.dependencies:
            raise ValueError("give files or dependencies that prove the technology")
        return self


class DefinitionsInput(Request):
    """The whole set, as YAML (kept as it is written, comments too) or as a list."""

    yaml: Annotated[str, Field(max_length=MOST_BYTES)] | None = None
    definitions: Annotated[list[Definition], Field(max_length=MOST_DEFINITIONS)] | None = None
    note: Annotated[str, Field(min_length=1, max_length=500)] | None = None  #: why it is changed; a check keeps none

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.yaml is None) == (self.definitions is None):
            raise ValueError("give exactly one of yaml and definitions")
        return self


class DefinitionsVersion(Answer):
    """One version of a tenant's set, without what it says."""

    version: int
    count: int
    created_at: Time | None
    actor: str | None = None
    note: str | None = None  #: why it was made


class DefinitionSet(DefinitionsVersion):
    """One version of a tenant's set; version 0 is the empty one that every tenant begins with."""

    yaml: str
    definitions: list[Definition]


class DefinitionsCheck(Answer):
    """What a set says, when it may be kept."""

    definitions: list[Definition]
    warnings: list[str]


class SightedFile(Answer):
    file: str
    line: int | None
    pattern: str  #: the file names that stand for it in a rule


class Sighting(Answer):
    """One job in which a model named a technology that no rule knows, and the files that proved it."""

    job_id: str
    root: str
    confidence: float
    files: list[SightedFile]
    at: Time


class Proposal(Answer):
    """A custom technology that recurs, as the rule that it would be; a person promotes it or dismisses it."""

    kind: Kind
    id: str
    name: str
    state: Literal["open", "promoted", "dismissed"]
    decided_by: str | None = None  #: the id of the API key that promoted or dismissed it
    decided_at: Time | None = None  #: when it was promoted or dismissed; null while it is open
    jobs: int
    sources: int
    confidence: float  #: the mean of what the model said
    resembles: str | None  #: a known id that is spelled much alike
    definition: Definition
    sightings: list[Sighting]


class PromotionInput(Request):
    """What of the proposed rule is to be other than proposed."""

    id: DefinitionId | None = None
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    files: Annotated[list[Pattern], Field(min_length=1, max_length=50)] | None = None
    weight: Annotated[float, Field(gt=0, le=1)] | None = None
