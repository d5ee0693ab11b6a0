"""A finished job as a case of a suite."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Query
from pydantic import ValidationError

from services.gateway.flows.service import Service
from services.gateway.flows.versions import at
from services.gateway.http.responses import JsonText
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.routing import routes
from services.gateway.streams.waits import find
from shared.contracts.evaluations import Case, Label
from shared.contracts.jobs import JobState
from shared.errors import Conflict, JobNotFinished
from shared.faults import field_fault, worded
from shared.kinds import case_name, case_rules

router = routes("/v1/jobs", "Evaluations")


@router.get("/{id}/case", summary="Make a case of a finished job", response_model_exclude_unset=True)
@EndpointRules(large=True)
async def get_job_case(
    service: Service, id: Id, name: Annotated[Label | None, Query(description="Else what the job was about")] = None
) -> Case:
    """Return the job's input, files by id, and its result as the expectation; nothing is stored. 409 if the job cannot
    be a case.
    """
    row = await find(service.db, id, service.caller.tenant)
    if not JobState(row["state"]).terminal:
        raise JobNotFinished(f"The job is {row['state']}; a case needs its outcome.")
    job = {**row, "input": await _read(row["input"]), "result": await _read(row["result"])}
    rules = case_rules(job["kind"])
    edited = rules.flow_before(job)
    flow: dict[str, Any] | None = None
    if edited is not None:
        _, earlier = await at(service, *edited)
        flow = earlier.view()
    try:
        case = Case.model_validate(rules.case_of(job, name or case_name(job, set()), flow))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise Conflict(f"No case can be made of this job: {field_fault(field, worded(first))}.") from None
    return case


async def _read(value: object) -> Any:  # noqa: ANN401 - any JSON
    return await asyncio.to_thread(value.read) if isinstance(value, JsonText) else value
