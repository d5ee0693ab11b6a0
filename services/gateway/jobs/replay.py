"""The input of an earlier job as a new one."""

from __future__ import annotations

from fastapi import Request
from pydantic import JsonValue, ValidationError
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.http import problems
from services.gateway.http.auth import Caller
from services.gateway.jobs import checks, views
from services.gateway.jobs.submit import Row, row_of
from shared.contracts.jobs import BudgetInput, ReplayInput
from shared.jobs.record import queries
from shared.kinds import KINDS


async def replayed(
    request: Request,
    caller: Caller,
    deps: Dependencies,
    db: AsyncConnection,
    old: views.Row,
    change: ReplayInput,
    **more: JsonValue,
) -> Row:
    """Return the row of the new job. Raises: InvalidRequest and what else ``checks.check`` raises."""
    merged = {**old["input"], **change.input}
    first = queries.is_first_of_conversation(old["id"], old["tenant_id"], old["conversation_id"])
    opened = (await db.execute(first)).scalar_one()
    wanted = {
        "kind": old["kind"],
        "input": merged,
        "priority": old["priority"],
        "labels": old["labels"],
        "budget": old["budget"],
        # A job that began its conversation begins one again, so that it sees what it saw then: nothing.
        "conversation_id": None if opened else old["conversation_id"],
    }
    try:
        submit = KINDS[old["kind"]].request.model_validate(wanted)
    except ValidationError as error:
        errors = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
        raise problems.invalid(errors, wanted) from None
    await checks.check(deps, db, caller, [(("body",), submit)])
    if change.budget is not None:
        submit.budget = BudgetInput.model_validate(change.budget)
    changed = change.model_dump(include={"model", "prompt_version", "reproducible"}, exclude_none=True)
    overrides = {**old["overrides"], **changed}
    return row_of(request, caller, submit, merged, replayed_from=old["id"], overrides=overrides, **more)
