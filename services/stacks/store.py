"""What is kept between detections: a tenant's definitions, known results, and custom technologies that models named."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import ValidationError
from sqlalchemy import Engine

from shared.contracts.definitions import DefinitionSet
from shared.contracts.detect import DetectResult
from shared.errors import NotFound
from shared.jobs.job import Context
from shared.stacks import definitions, proposals, results
from shared.stacks.definitions import EMPTY
from shared.stacks.proposals import Seen

#: Sets that were read stay in memory: a version never changes.
_MOST_SETS = 100


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


@dataclass
class Ledger:
    engine: Engine  #: whose statements stand alone
    _sets: OrderedDict[tuple[str, int], DefinitionSet] = field(default_factory=OrderedDict)

    def definitions(self, tenant: str, version: int | None) -> DefinitionSet:
        """Raises: NotFound."""
        if version == 0:
            return definitions.EMPTY
        with self.engine.connect() as connection:
            number = version or connection.execute(definitions.newest(tenant)).scalar()
            if number is None:
                return definitions.EMPTY
            definition_set = self._sets.get((tenant, number))
            if definition_set is None:
                row = connection.execute(definitions.find(tenant, number)).mappings().one_or_none()
                if row is None:
                    raise NotFound(f"there is no version {number} of the definitions")
                definition_set = self._sets[tenant, number] = definitions.view(row)
                while len(self._sets) > _MOST_SETS:
                    self._sets.popitem(last=False)
        return definition_set

    def result(self, tenant: str, identity: str) -> Known | None:
        with self.engine.connect() as connection:
            row = connection.execute(results.find(tenant, identity)).one_or_none()
        if row is None:
            return None
        try:
            return DetectResult.model_validate(row.result), list(row.warnings)
        except ValidationError:
            return None  # written by another version of Assay

    def keep(self, context: Context, identity: str, warnings: Sequence[str]) -> None:
        context.report.effect(results.keep(context.job.tenant_id, identity, context.job.id, warnings))

    def saw(self, context: Context, source: str, seen: Sequence[Seen]) -> None:
        context.report.effect(proposals.record(context.job.tenant_id, context.job.id, source, seen))
