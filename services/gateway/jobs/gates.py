"""Whether an evaluation allows a prompt or a model to be used."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from shared.amounts import amount
from shared.contracts.models import Gate
from shared.errors import Conflict, NotFound
from shared.evaluations import report, statements


async def passed(
    db: AsyncConnection, tenant: str, id: str, required: float, *, prompt: str | None = None, model: str | None = None
) -> Gate:
    """Return the evaluation's outcome with this prompt or model. Raises: NotFound, Conflict when it is not enough."""
    row = (await db.execute(statements.find(id, tenant))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no evaluation {id}.")
    if row["state"] != "finished" or row["finished_at"] is None:
        raise Conflict(f"The evaluation {id} has not finished: {row['state']}.")
    what = f"prompt {prompt}" if prompt is not None else f"model {model}"
    names = [
        variant["name"]
        for variant in row["variants"]
        if (variant["prompt"] == prompt if prompt is not None else variant["model"] == model)
    ]
    if not names:
        raise Conflict(f"The evaluation {id} has no variant with the {what}.")
    runs = (await db.execute(statements.runs([id], tenant))).mappings().all()
    totals = report.totals([variant["name"] for variant in row["variants"]], runs)
    worst = min((total for total in totals if total.variant in names), key=lambda total: total.successes / total.runs)
    if worst.successes < required * worst.runs:
        came = f"{worst.successes} of {amount(worst.runs, 'run')} succeeded with the {what}"
        raise Conflict(f"{came}, and {required:g} of them is required. See assay eval show {id}.")
    return Gate(evaluation_id=id, runs=worst.runs, successes=worst.successes, required=required)
