"""What outlives a detection: definitions, known results, and technologies that models named without a rule."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError
from sqlalchemy import Engine

from services.stacks.cache import Answer
from shared.contracts.definitions import DefinitionSet
from shared.contracts.detect import DetectResult
from shared.errors import NotFound
from shared.jobs.job import Context
from shared.stacks import definitions, proposals, results
from shared.stacks.proposals import Seen

#: Sets that were read stay in memory: a version never changes.
_MAX_SETS = 100


@dataclass
class StackStore:
    """Shared by all workers; every method is about one tenant. What is written is committed as the job completes."""

    engine: Engine  #: in autocommit: each statement is its own transaction
    _sets: OrderedDict[tuple[str, int], DefinitionSet] = field(default_factory=OrderedDict)

    def definitions(self, tenant: str, version: int | None) -> DefinitionSet:
        """Return one version of the tenant's own set, by default the newest. Raises: NotFound."""
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
                while len(self._sets) > _MAX_SETS:
                    self._sets.popitem(last=False)
        return definition_set

    def answer(self, tenant: str, key: str) -> Answer | None:
        """Return the answer of an earlier job of the tenant under that cache key."""
        with self.engine.connect() as connection:
            row = connection.execute(results.find(tenant, key)).one_or_none()
        if row is None:
            return None
        try:
            return Answer(DetectResult.model_validate(row.result), list(row.warnings), row.source)
        except ValidationError:
            return None  # not what this version writes: detect it again

    def keep_answer(self, context: Context, key: str, warnings: Sequence[str]) -> None:
        """Store this job's result under the cache key."""
        context.report.effect(results.keep(context.job.tenant_id, key, context.job.id, warnings))

    def add_sightings(self, context: Context, source: str, seen: Sequence[Seen]) -> None:
        context.report.effect(proposals.record(context.job.tenant_id, context.job.id, source, seen))
