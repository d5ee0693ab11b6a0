"""Checking an evaluation before it is accepted: every case fits its kind, every model and prompt is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.http import problems
from services.gateway.http.auth import Caller
from services.gateway.jobs import checks
from shared.contracts.evaluations import Case, EvaluationEstimate, EvaluationInput, Suite, Variant, VariantInput
from shared.contracts.jobs import JobRequest
from shared.errors import InvalidRequest, QuotaExceeded
from shared.evaluations import expected_flow, expected_table, statements
from shared.jobs.record import quotas
from shared.kinds import KINDS, case_rules
from shared.llm.chat import ChatRequest
from shared.llm.faults import NoSuchModel
from shared.near_names import no_such

#: Evaluations of a tenant that have something left to do.
_MAX_OPEN = 20
Loc = tuple[str | int, ...]


@dataclass(frozen=True)
class Prepared:
    suite: Suite
    variants: list[Variant]


async def prepare(deps: Dependencies, db: AsyncConnection, caller: Caller, body: EvaluationInput) -> Prepared:
    """Return the suite as its jobs will get it, and the variants by name.

    Raises: InvalidRequest and what ``checks.check`` raises.
    """
    cases = [case_rules(case.kind).as_run(case) for case in body.suite.cases]
    located: list[checks.Located] = []
    for number, case in enumerate(cases):
        loc: Loc = ("body", "suite", "cases", number)
        located.append((loc, _request_of(loc, case)))
        _check_expectation(loc, case)
    await checks.check(deps, db, caller, located)
    roles = sorted({role.name for case in cases for role in KINDS[case.kind].roles})
    variants = [
        await variant_of(deps, caller.tenant, ("body", "variants", number), given, roles)
        for number, given in enumerate(body.variants)
    ]
    repeated = [name for name, count in Counter(variant.name for variant in variants).items() if count > 1]
    if repeated:
        raise _refused(("body", "variants"), f"two variants are called {repeated[0]!r}")
    return Prepared(body.suite.model_copy(update={"cases": cases}), variants)


async def admit(db: AsyncConnection, tenant: str) -> None:
    """Serialize new evaluations of the tenant until the transaction ends. Raises: QuotaExceeded."""
    await db.execute(quotas.one_at_a_time(tenant, "evaluations"))
    if (await db.execute(statements.open_of(tenant))).scalar_one() >= _MAX_OPEN:
        detail = f"The tenant has {_MAX_OPEN} evaluations in progress; wait for one of them, or cancel it."
        raise QuotaExceeded(detail, retry_after=10, quota="evaluations", limit=_MAX_OPEN)


async def estimate(db: AsyncConnection, tenant: str, body: EvaluationInput) -> EvaluationEstimate:
    """Estimate from the tenant's own jobs of these kinds; nothing is guessed without any."""
    times = len(body.variants) * body.repeat
    kinds = Counter(case.kind for case in body.suite.cases if _asks(case))
    rows = (await db.execute(statements.estimate(tenant, list(kinds)))).mappings().all()
    known = {row["kind"]: row for row in rows}
    whole = bool(kinds) and all(kind in known for kind in kinds)
    priced = whole and all(known[kind]["cost_usd"] is not None for kind in kinds)
    return EvaluationEstimate(
        runs=len(body.suite.cases) * times,
        asking=kinds.total() * times,
        tokens=round(sum(known[kind]["tokens"] * n for kind, n in kinds.items()) * times) if whole else None,
        cost_usd=sum(known[kind]["cost_usd"] * n for kind, n in kinds.items()) * times if priced else None,
        from_jobs=sum(row["jobs"] for row in rows),
    )


def _asks(case: Case) -> bool:
    return bool(KINDS[case.kind].roles) and case.input.get("code") is None


def _request_of(loc: Loc, case: Case) -> JobRequest:
    kind = KINDS.get(case.kind)
    if kind is None:
        raise _refused((*loc, "kind"), no_such("kind", case.kind, KINDS))
    given: dict[str, Any] = {"kind": case.kind, "input": case.input}
    if case.budget is not None:
        given["budget"] = case.budget.model_dump(exclude_none=True)
    try:
        return kind.request.model_validate(given)
    except ValidationError as error:
        errors = [{**each, "loc": (*loc, *each["loc"])} for each in error.errors(include_url=False)]
        body = {"suite": {"cases": {loc[-1]: given}}}  # as far as the places of the errors need it
        raise problems.invalid(errors, body) from None


def _check_expectation(loc: Loc, case: Case) -> None:
    """Refuse an expectation that can never hold: it is the suite's mistake, not the model's."""
    for name in case.expect.model_fields_set - set(KINDS[case.kind].cases.expects):
        if others := [kind.name for kind in KINDS.values() if name in kind.cases.expects]:
            raise _refused((*loc, "expect", name), f"it speaks of {others[0]} jobs, and this is {case.kind}")
    try:
        if case.expect.table is not None:
            expected_table.expected_of(case.expect.table)
        if case.expect.flow is not None:
            expected_flow.graph_of(case.expect.flow)
    except expected_table.NoTable as fault:
        raise _refused((*loc, "expect", "table"), str(fault)) from None
    except expected_flow.NotAFlow as fault:
        raise _refused((*loc, "expect", "flow"), str(fault)) from None


async def variant_of(deps: Dependencies, tenant: str, loc: Loc, given: VariantInput, roles: Sequence[str]) -> Variant:
    """Return the variant with the whole key of its prompt and its name.

    Raises: InvalidRequest for an unknown model or prompt, ModelNotAllowed when the tenant may not use the model.
    """
    prompt = None if given.prompt is None else await _prompt(deps, (*loc, "prompt"), given.prompt)
    if given.model is not None:
        await _check_model(deps, tenant, (*loc, "model"), given.model, roles)
    short = [given.model, given.prompt]
    return Variant(name=given.name or " ".join(filter(None, short)) or "default", model=given.model, prompt=prompt)


async def _prompt(deps: Dependencies, loc: Loc, named: str) -> str:
    """``key@version`` with the whole key, of which the last part may have been given. Raises: InvalidRequest."""
    given, _, version = named.rpartition("@")
    registry = deps.llm.layer.prompts
    known = registry.keys()
    keys = [given] if given in known else [key for key in known if key.rpartition(".")[2] == given]
    if len(keys) != 1:
        which = f"several prompts are called so: {', '.join(keys)}" if keys else no_such("prompt", given, known)
        raise _refused(loc, which)
    if await deps.llm.ask(lambda: registry.version(keys[0], int(version))) is None:
        raise _refused(loc, f"the prompt {keys[0]} has no version {version}")
    return f"{keys[0]}@{int(version)}"


async def _check_model(deps: Dependencies, tenant: str, loc: Loc, model: str, roles: Sequence[str]) -> None:
    """Raise InvalidRequest when no provider has the model, ModelNotAllowed when the tenant may not use it."""
    layer = deps.llm.layer
    for role in roles:
        request = ChatRequest(role, (), selector=(model,))
        try:
            links = await deps.llm.ask(lambda: layer.models.for_request(request))  # noqa: B023 - awaited at once
        except NoSuchModel as fault:
            raise _refused(loc, fault.detail) from None
        await deps.llm.ask(lambda: layer.allowed.among(links, tenant))  # noqa: B023 - awaited at once


def _refused(loc: Loc, message: str) -> InvalidRequest:
    return InvalidRequest(f"{'.'.join(map(str, loc))}: {message}", [(list(loc), message)])
