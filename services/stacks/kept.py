"""What is kept between detections: a tenant's definitions, known results, and what models named without a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.definitions import DefinitionSet
from shared.contracts.detect import DetectResult
from shared.jobs.job import Context
from shared.stacks.definitions import EMPTY
from shared.stacks.proposals import Seen

Known = tuple[DetectResult, list[str]]


class Kept(Protocol):
    """Every question is one tenant's; writing happens with the completion of the job."""

    def definitions(self, tenant: str, version: int | None) -> DefinitionSet:
        """One version of the tenant's own set, by default the newest. Raises: NotFound."""
        ...

    def result(self, tenant: str, identity: str) -> Known | None:
        """What an earlier job of the tenant answered, and its warnings about the source."""
        ...

    def keep(self, context: Context, identity: str, warnings: Sequence[str]) -> None:
        """Let this job's result answer the identity from now on."""
        ...

    def saw(self, context: Context, source: str, seen: Sequence[Seen]) -> None: ...


class Nothing:
    """Without a database: no definitions, nothing known, nothing learnt."""

    def definitions(self, tenant: str, version: int | None) -> DefinitionSet:
        return EMPTY

    def result(self, tenant: str, identity: str) -> Known | None:
        return None

    def keep(self, context: Context, identity: str, warnings: Sequence[str]) -> None: ...

    def saw(self, context: Context, source: str, seen: Sequence[Seen]) -> None: ...
