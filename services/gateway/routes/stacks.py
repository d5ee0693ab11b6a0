"""A tenant's own definitions for ``detect`` jobs, and the proposals for them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.http.auth import Caller, CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page_of_list
from services.gateway.http.rules import EndpointRules, IfMatch
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.definitions import (
    Definition,
    DefinitionsCheck,
    DefinitionSet,
    DefinitionsInput,
    DefinitionsVersion,
    PromotionInput,
    Proposal,
    TechnologyKind,
)
from shared.contracts.models import RollbackInput
from shared.errors import Conflict, InvalidRequest, NotFound, PreconditionFailed
from shared.stacks import definitions as statements
from shared.stacks import proposals
from shared.stacks.reading import check_set, extended, read_definitions, written

router = routes("/v1/stacks", "Stacks")

Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a version")]
TechnologyId = Annotated[str, Path(min_length=1, max_length=200, description="The id of a technology")]


@router.get("/definitions", summary="Read the definitions in use", responses={304: {"description": "Not modified"}})
async def get_definitions(response: Response, caller: CurrentCaller, db: Db) -> DefinitionSet:
    """Version 0 is the empty set that every tenant begins with."""
    return _tagged(response, await _find(db, caller.tenant))


@router.put("/definitions", summary="Change the definitions")
@EndpointRules(audit="definitions.set")
async def set_definitions(
    response: Response, body: DefinitionsInput, caller: CurrentCaller, db: Db, if_match: IfMatch = None
) -> DefinitionSet:
    """Replace the whole set by a new version that the next job uses. 422 names each fault with its line."""
    text, definitions = await asyncio.to_thread(_parsed, body)
    expected = await _expected(db, caller.tenant, if_match)
    return _tagged(response, await _save(db, caller, text, definitions, expected, body.note))


@router.delete("/definitions", summary="Use no definitions any more")
@EndpointRules(audit="definitions.delete")
async def delete_definitions(
    response: Response, caller: CurrentCaller, db: Db, if_match: IfMatch = None
) -> DefinitionSet:
    """Save an empty set as a new version; earlier versions stay."""
    return _tagged(response, await _save(db, caller, "", [], await _expected(db, caller.tenant, if_match)))


@router.post("/definitions/check", summary="Check definitions without keeping them")
async def check_definitions(body: DefinitionsInput, caller: CurrentCaller) -> DefinitionsCheck:
    _, definitions = await asyncio.to_thread(_parsed, body)
    broad = [rule for rule in definitions if any(len(pattern.strip("*?.")) < 2 for pattern in rule.files)]
    warnings = [f"{rule.kind} {rule.id}: a pattern is so short that it may fit files of others" for rule in broad]
    return DefinitionsCheck(definitions=definitions, warnings=warnings)


@router.get("/definitions/versions", summary="List versions, newest first")
async def list_definition_versions(
    caller: CurrentCaller, db: Db, limit: Limit = 50, cursor: Cursor = None
) -> Page[DefinitionsVersion]:
    rows = (await db.execute(statements.versions(caller.tenant))).mappings().all()
    return page_of_list([statements.summary(row) for row in rows], limit, cursor)


@router.get("/definitions/versions/{number}", summary="Read one version")
async def get_definition_version(number: Number, caller: CurrentCaller, db: Db) -> DefinitionSet:
    return await _version(db, caller.tenant, number)


@router.post("/definitions/rollback", summary="Use an old version again")
@EndpointRules(audit="definitions.rollback")
async def rollback_definitions(
    response: Response, body: RollbackInput, caller: CurrentCaller, db: Db, if_match: IfMatch = None
) -> DefinitionSet:
    """Roll back by a new version: version numbers only grow."""
    try:
        old = await _version(db, caller.tenant, body.version)
    except NotFound as missing:
        raise InvalidRequest(f"body.version: {missing.detail}", [(["body", "version"], missing.detail)]) from None
    expected = await _expected(db, caller.tenant, if_match)
    return _tagged(
        response, await _save(db, caller, old.yaml, old.definitions, expected, f"as version {body.version} was")
    )


KindOfProposal = Annotated[TechnologyKind, Path(description="Kind of the proposed technology")]
AtLeast = Annotated[int, Query(ge=1, le=1000, description="In how many jobs a technology was named")]


@router.get("/proposals", summary="List technologies that recur without a rule")
async def list_stack_proposals(
    caller: CurrentCaller, db: Db, at_least: AtLeast = 3, limit: Limit = 50, cursor: Cursor = None
) -> Page[Proposal]:
    """List technologies that models named in several jobs and no rule knows, as rules, with their evidence."""
    return page_of_list(await _proposals(db, caller.tenant, at_least), limit, cursor)


@router.post("/proposals/{kind}/{id}/promote", summary="Make a proposal a definition")
@EndpointRules(audit="definitions.promote")
async def promote_stack_proposal(
    response: Response,
    kind: KindOfProposal,
    id: TechnologyId,
    caller: CurrentCaller,
    db: Db,
    body: PromotionInput | None = None,
) -> DefinitionSet:
    """Add the proposal to the definitions, as a new version; the body overrides parts of it."""
    proposal = await _proposal(db, caller.tenant, kind, id)
    changed = body.model_dump(exclude_none=True) if body else {}
    new = Definition.model_validate({**proposal.definition.model_dump(), **changed})
    check_set([new], loc=["body"])
    now = await _find(db, caller.tenant)
    if any((rule.kind, rule.id) == (new.kind, new.id) for rule in now.definitions):
        raise Conflict(f"There is a definition of the {new.kind} {new.id} already.")
    text = await asyncio.to_thread(extended, now.yaml, now.definitions, new)
    await db.execute(proposals.decide(caller.tenant, kind, id, "promoted", caller.key_id))
    return _tagged(
        response, await _save(db, caller, text, [*now.definitions, new], now.version, f"the proposed {kind} {id}")
    )


@router.post("/proposals/{kind}/{id}/dismiss", summary="Dismiss a proposal")
async def dismiss_stack_proposal(kind: KindOfProposal, id: TechnologyId, caller: CurrentCaller, db: Db) -> Proposal:
    """Dismiss the proposal; it stays listed as dismissed, and can still be promoted."""
    await _proposal(db, caller.tenant, kind, id)
    await db.execute(proposals.decide(caller.tenant, kind, id, "dismissed", caller.key_id))
    return await _proposal(db, caller.tenant, kind, id)


def _parsed(body: DefinitionsInput) -> tuple[str, Sequence[Definition]]:
    """Return the text to store, and its definitions. Raises: InvalidRequest."""
    if body.yaml is not None:
        return body.yaml, read_definitions(body.yaml)
    definitions = body.definitions or []
    check_set(definitions, loc=["body", "definitions"])
    return written(definitions), definitions


async def _save(
    db: AsyncConnection,
    caller: Caller,
    text: str,
    definitions: Sequence[Definition],
    expected: int | None,
    note: str | None = None,
) -> DefinitionSet:
    """Save a version. Raises: PreconditionFailed when ``expected`` is not the newest, Conflict under constant
    writes.
    """
    for _ in range(5):
        added = await db.execute(statements.add(caller.tenant, text, definitions, caller.key_id, expected, note))
        row = added.mappings().one_or_none()
        if row is not None:
            await db.execute(statements.forget(caller.tenant, row["version"]))
            return statements.view(row)
        if expected is not None:
            raise PreconditionFailed("The definitions have changed since you read them; read them again.")
    raise Conflict("The definitions are being changed by others; try again.")


async def _find(db: AsyncConnection, tenant: str) -> DefinitionSet:
    return statements.view((await db.execute(statements.find(tenant))).mappings().one_or_none())


async def _version(db: AsyncConnection, tenant: str, number: int) -> DefinitionSet:
    row = (await db.execute(statements.find(tenant, number))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no version {number} of the definitions.")
    return statements.view(row)


async def _expected(db: AsyncConnection, tenant: str, if_match: str | None) -> int | None:
    """Return the version that the client read. Raises: PreconditionFailed when it is not the current one."""
    if if_match is None or if_match.strip() == "*":
        return None
    now = await _find(db, tenant)
    if _tag(now) not in {tag.strip().removeprefix("W/") for tag in if_match.split(",")}:
        raise PreconditionFailed("The definitions have changed since you read them; read them again.")
    return now.version


async def _proposals(
    db: AsyncConnection, tenant: str, at_least: int, key: tuple[str, str] | None = None
) -> list[Proposal]:
    rows = (await db.execute(proposals.recurring(tenant, at_least, key))).mappings().all()
    if not rows:
        return []
    newest = await db.execute(proposals.latest(tenant, [(row["kind"], row["id"]) for row in rows]))
    seen = defaultdict(list)
    for row in newest.mappings():
        seen[row["kind"], row["id"]].append(row)
    return [proposals.view(row, seen[row["kind"], row["id"]]) for row in rows if seen[row["kind"], row["id"]]]


async def _proposal(db: AsyncConnection, tenant: str, kind: str, id: str) -> Proposal:
    matching = await _proposals(db, tenant, 1, (kind, id))
    if not matching:
        raise NotFound(f"No model has named a {kind} {id} that the rules do not know.")
    return matching[0]


def _tagged(response: Response, definitions: DefinitionSet) -> DefinitionSet:
    """Name the version as the response's ``ETag``."""
    response.headers["ETag"] = _tag(definitions)
    return definitions


def _tag(changed: DefinitionSet) -> str:
    return f'"{changed.version}"'
