"""What is checked of a submit beyond its shape: that all it refers to exists, and that anything could ever serve it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, HttpUrl
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from shared.contracts.addresses import private_by_its_looks
from shared.contracts.common import file_references
from shared.contracts.detect import DetectInput
from shared.contracts.document import DocumentInput
from shared.contracts.execute import ExecuteInput
from shared.contracts.flow import FlowInput
from shared.contracts.jobs import JobRequestFields
from shared.contracts.search import IngestInput, SearchInput
from shared.contracts.transform import TransformInput
from shared.errors import InvalidRequest, LanguageUnavailable, NoProviderConfigured, SourceNotAllowed
from shared.jobs import queries
from shared.llm.vendors.table import key_variables
from shared.stacks import definitions

Loc = tuple[str | int, ...]
Submit = JobRequestFields


async def references(connection: AsyncConnection, tenant: str, submits: Sequence[tuple[Loc, Submit]]) -> None:
    """Raises: InvalidRequest naming each field that refers to something that the tenant does not have."""
    found: defaultdict[str, list[tuple[Loc, str]]] = defaultdict(list)
    for loc, submit in submits:
        for noun, place, name in _references(submit):
            found[noun].append(((*loc, *place), name))
    wrong: list[tuple[list[str | int], str]] = []
    for noun, located in found.items():
        names = sorted({name for _, name in located})
        unknown = set((await connection.execute(queries.unknown_references(noun, tenant, names))).scalars())
        wrong += [(list(loc), f"there is no {noun} {name}") for loc, name in located if name in unknown]
    wrong += await _definitions(connection, tenant, submits)
    if wrong:
        raise InvalidRequest("; ".join(f"{'.'.join(map(str, loc))}: {msg}" for loc, msg in wrong[:3]), wrong[:100])


async def _definitions(
    connection: AsyncConnection, tenant: str, submits: Sequence[tuple[Loc, Submit]]
) -> list[tuple[list[str | int], str]]:
    """The fields that name a version of the tenant's definitions that there is not."""
    named: list[tuple[Loc, int]] = []
    for loc, submit in submits:
        given = _input(submit)
        if isinstance(given, DetectInput) and given.definitions_version:
            named.append(((*loc, "input", "definitions_version"), given.definitions_version))
    if not named:
        return []
    known = set((await connection.execute(definitions.known(tenant, [version for _, version in named]))).scalars())
    return [(list(loc), f"there is no version {version} of the definitions") for loc, version in named
            if version not in known]  # fmt: skip


def _references(submit: Submit) -> Iterator[tuple[str, Loc, str]]:
    """What a submit refers to: the noun, the field, and the id or name."""
    given = _input(submit)
    for loc, id in file_references(given, ("input",)):
        yield "file", loc, id
    if submit.conversation_id is not None:
        yield "conversation", ("conversation_id",), submit.conversation_id
    if isinstance(given, FlowInput):
        yield "flow", ("input", "flow_id"), given.flow_id
    if isinstance(given, (SearchInput, IngestInput)):
        yield "collection", ("input", "collection"), given.collection
    if isinstance(given, DocumentInput) and given.previous_job_id is not None:
        yield "job", ("input", "previous_job_id"), given.previous_job_id


def webhooks(deps: Dependencies, submits: Sequence[tuple[Loc, Submit]]) -> None:
    """Refuse at once what would never be called; where a name leads is seen when it is called.

    Raises: InvalidRequest.
    """
    if deps.settings.jobs.webhook_private:
        return
    for loc, submit in submits:
        if submit.webhook is not None and (reason := _not_callable(submit.webhook.url)):
            at = [*loc, "webhook", "url"]
            raise InvalidRequest(f"{'.'.join(map(str, at))}: {reason}", [(at, reason)])


def _not_callable(url: HttpUrl) -> str | None:
    if url.scheme != "https":
        return "webhooks go to https addresses only"
    if url.username or url.password:
        return "a webhook's URL must not carry credentials; check the signature instead"
    if private_by_its_looks((url.host or "").strip("[]")):
        return "webhooks go to public addresses only"
    return None


async def servable(deps: Dependencies, tenant: str, submit: Submit) -> None:
    """Whether anything could ever serve the job, and the tenant may still ask models today.

    Raises: NoProviderConfigured, QuotaExceeded, LanguageUnavailable, SourceNotAllowed.
    """
    given = _input(submit)
    if isinstance(given, DetectInput) and given.source.path is not None and not deps.settings.http.embedded:
        loc: list[str | int] = ["body", "input", "source", "path"]
        message = "local paths are read by an installation on one machine only; upload an archive"
        raise SourceNotAllowed(f"{'.'.join(map(str, loc))}: {message}", errors=[{"loc": list(loc), "msg": message}])
    role = _role(given)
    if role is not None and not await deps.llm.configured(role):
        raise NoProviderConfigured(
            f"This job asks a model, and no provider has a key here. Set {key_variables()} and start again."
        )
    if role is not None:
        await deps.admission.admit_tokens(tenant)
    if isinstance(given, (ExecuteInput, TransformInput)):
        await _language(deps, submit, given.language)


async def warnings(deps: Dependencies, kind: str) -> list[str]:
    """What the caller should know of a job that is accepted all the same."""
    if await deps.workforce.serving(kind):
        return []
    return [f"{deps.workforce.absence(kind)} The job waits until one can."]


async def _language(deps: Dependencies, submit: Submit, language: str) -> None:
    workers = await deps.workforce.serving(_kind(submit))
    said = [worker.facts["languages"] for worker in workers if "languages" in worker.facts]
    known = [languages[language] for languages in said if language in languages]
    if said and not any(found.get("available") for found in known):
        why = next((found["reason"] for found in known if found.get("reason")), "it is not installed")
        raise LanguageUnavailable(f"{language} cannot be run here: {why}. GET /v1/capabilities lists what can.")


def _role(given: BaseModel) -> str | None:
    """The role without which the job can do nothing."""
    if isinstance(given, TransformInput):
        return "execution.transform" if given.code is None else None
    if isinstance(given, DetectInput):
        return "stacks.identify" if given.mode == "llm_only" else None
    return "flows.edit" if isinstance(given, FlowInput) else None


def _input(submit: Submit) -> BaseModel:
    given: Any = submit
    found = given.input
    assert isinstance(found, BaseModel)
    return found


def _kind(submit: Submit) -> str:
    given: Any = submit
    return str(given.kind)
