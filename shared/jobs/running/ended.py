"""How a run ended, and the error that a client gets for an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from shared.amounts import amount
from shared.contracts.jobs import JobState
from shared.errors import AssayError, BudgetSpentError, InternalError
from shared.jobs.running.report import storable
from shared.loop import BudgetSpent

log = structlog.get_logger(__name__)
_JSON: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


@dataclass(frozen=True)
class Ended:
    """How a run ended, before it is written."""

    state: JobState
    result: Mapping[str, JsonValue] | None = None
    error: Mapping[str, JsonValue] | None = None


def explained(fault: Exception) -> AssayError:
    """Return the error that a client gets for an exception; the details stay in the log."""
    match fault:
        case AssayError():
            return fault
        case BudgetSpent():
            detail = f"The budget of {fault.what} was spent before there was a good result.{fault.why}"
            return BudgetSpentError(detail, attempts=fault.attempts)
        case ValidationError():
            log.exception("input_no_longer_fits")
            return InternalError(f"The stored input no longer fits: {amount(fault.error_count(), 'error')}.")
        case _:
            log.exception("capability_failed")
            return InternalError("Assay failed to run the job. The log has the details under the job's id.")


def as_json(result: BaseModel) -> Mapping[str, JsonValue]:
    stored = storable(result.model_dump(mode="json", by_alias=True))
    return _JSON.validate_python(stored)


def failed(fault: AssayError) -> Ended:
    return Ended(JobState.FAILED, error=_JSON.validate_python(storable(dict(fault.problem()))))
