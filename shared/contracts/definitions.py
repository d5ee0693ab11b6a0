"""A tenant's own technologies: what they are, the versions of the set, and what is proposed for it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.faults import form

TechnologyKind = TypeAliasType(
    "TechnologyKind",
    Annotated[
        Literal["language", "build_system", "package_manager", "framework", "runtime", "orchestrator"],
        Field(description="Kind of technology"),
    ],
)
#: A larger file is not accepted as a list of technologies.
MAX_BYTES = 256 << 10
MAX_DEFINITIONS = 200

_ID = form(
    r"^[a-z0-9][a-z0-9._-]{0,63}$",
    "must begin with a-z or 0-9, and have at most 64 lowercase letters, digits, ., - and _",
)
DefinitionId = Annotated[str, Field(pattern=_ID)]
Pattern = Annotated[str, Field(min_length=1, max_length=200)]


StackProposalState = TypeAliasType(
    "StackProposalState",
    Annotated[Literal["open", "promoted", "dismissed"], Field(description="State of a proposed technology")],
)


class DependencyRule(Request):
    """A package whose use proves the technology."""

    ecosystem: Annotated[str, Field(min_length=1, max_length=40)]
    """Package ecosystem, such as `npm`, `pypi`, `cargo`, `go`, `maven`, `gem` or `composer`"""
    name: Annotated[str, Field(min_length=1, max_length=200)]
    """Package name, as its registry spells it"""


class Definition(Request):
    """A tenant's own technology, with the files or dependencies that prove it."""

    id: DefinitionId
    """Technology id, unique within its kind"""
    kind: TechnologyKind
    """Kind of technology"""
    name: Annotated[str, Field(min_length=1, max_length=100)]
    """Display name"""
    files: Annotated[list[Pattern], Field(max_length=50)] = []
    """File name patterns that prove the technology, such as `Blorbfile` or `*.blorb`"""
    dependencies: Annotated[list[DependencyRule], Field(max_length=50)] = []
    """Package dependencies that prove the technology"""
    weight: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Confidence of a match, greater than 0 and at most 1"""

    @model_validator(mode="after")
    def _provable(self) -> Self:
        if not self.files and not self.dependencies:
            raise ValueError("give files or dependencies that prove the technology")
        return self


class DefinitionsInput(Request):
    """The whole set of definitions, as YAML (stored as written, with comments) or as a list."""

    yaml: Annotated[str, Field(max_length=MAX_BYTES)] | None = None
    """Definitions as a YAML document; give this or `definitions`"""
    definitions: Annotated[list[Definition], Field(max_length=MAX_DEFINITIONS)] | None = None
    """Definitions as a list; give this or `yaml`"""
    note: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Why the set is changed; shown in the list of versions"""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.yaml is None) == (self.definitions is None):
            raise ValueError("give exactly one of yaml and definitions")
        return self


class DefinitionsVersion(Answer):
    """One version of a tenant's definitions, without its content."""

    version: int
    """Version number; 0 is the empty set"""
    count: int
    """Number of definitions in the set"""
    created_at: Time | None
    """Time at which the version was saved; null for version 0"""
    actor: str | None = None
    """Id of the API key that saved the version"""
    note: str | None = None
    """Why the version was saved; null if no note was given"""


class DefinitionSet(DefinitionsVersion):
    """One version of a tenant's definitions. Version 0 is the empty set that every tenant begins with."""

    yaml: str
    """Definitions as the YAML document that was saved"""
    definitions: list[Definition]
    """Definitions of the set"""


class DefinitionsCheck(Answer):
    """A valid set of definitions, with warnings."""

    definitions: list[Definition]
    """Definitions as Assay reads them"""
    warnings: list[str]
    """Problems that do not prevent saving, such as a pattern that matches too much"""


class SightedFile(Answer):
    """A file that showed a technology."""

    file: str
    """Path of the file, relative to the root of the source"""
    line: int | None
    """Line number, from 1; null if the file's existence is the evidence"""
    pattern: str
    """File name pattern that a rule would use for this file"""


class Sighting(Answer):
    """One job in which a model named a technology that no rule knows."""

    job_id: str
    """Id of the `detect` job"""
    root: str
    """Folder of the package, relative to the root of the source"""
    confidence: float
    """Confidence that the model stated, 0 to 1"""
    files: list[SightedFile]
    """Files that showed the technology"""
    at: Time
    """Time of the sighting"""


class Proposal(Answer):
    """A technology that models named repeatedly and no rule knows, with the definition that would find it."""

    kind: TechnologyKind
    """Kind of technology that the model named"""
    id: str
    """Id of the proposed technology"""
    name: str
    """Name that the model gave the technology"""
    state: StackProposalState
    """Decision about the proposed technology"""
    decided_by: str | None = None
    """Id of the API key that promoted or dismissed the proposal; null while it is open"""
    decided_at: Time | None = None
    """Time of the decision; null while the proposal is open"""
    jobs: int
    """Number of jobs in which a model named the technology"""
    sources: int
    """Number of distinct sources that contained the technology"""
    confidence: float
    """Mean of the confidence that models stated, 0 to 1"""
    resembles: str | None
    """Known technology id with a similar spelling; null if there is none"""
    definition: Definition
    """Definition that promoting would add"""
    sightings: list[Sighting]
    """Newest sightings"""


class PromotionInput(Request):
    """Changes to the proposed definition; null keeps the proposed value."""

    id: DefinitionId | None = None
    """Technology id instead of the proposed one"""
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Display name instead of the proposed one"""
    files: Annotated[list[Pattern], Field(min_length=1, max_length=50)] | None = None
    """File name patterns instead of the proposed ones"""
    weight: Annotated[float, Field(gt=0, le=1)] | None = None
    """Confidence of a match instead of the proposed one, greater than 0 and at most 1"""
