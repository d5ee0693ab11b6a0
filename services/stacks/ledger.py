"""What is kept between detections, in Postgres: all workers share it, and every row says whose it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError
from sqlalchemy import Engine

from services.stacks.kept import Known
from shared.contracts.definitions import DefinitionSet
from shared.contracts.detect import DetectResult
from shared.errors import NotFound
from shared.jobs.job import Context
from shared.stacks import definitions, proposals, results
from shared.stacks.proposals import Seen

#: Sets that were read stay in memory: a version never changes.
_MOST_SETS = 100


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
            found = self._sets.get((tenant, number))
            if found is None:
                row = connection.execute(definitions.find(tenant, number)).mappings().one_or_none()
                if row is None:
                    raise NotFound(f"there is no version {number} of the definitions")
                found = self._sets[tenant, number] = definitions.view(row)
                while len(self._sets) > _MOST_SETS:
                    self._sets.popitem(last=False)
        return found

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
