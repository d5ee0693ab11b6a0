"""What is checked of a submit beyond its shape: what it refers to exists, and that anything could ever serve it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, HttpUrl, JsonValue
from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.http.auth import Caller
from services.gateway.settings import HttpSettings
from shared import blobs
from shared.addresses import looks_private
from shared.contracts.common import Loc, LocalPath, Reference, marked_values
from shared.contracts.document import DocumentInput
from shared.contracts.jobs import JobRequest
from shared.declarations.documents import parameter_faults
from shared.errors import InvalidRequest, LanguageUnavailable, MissingScope, NoProviderConfigured, SourceNotAllowed
from shared.jobs.record import queries
from shared.kinds import KINDS
from shared.llm.vendors.table import key_variables
from shared.stacks import definitions

_MAX_DOCUMENT_BYTES = 4_000_000  # the worker checks what is in a larger file

Located = tuple[Loc, JobRequest]  #: a submit, and its location in the request


@dataclass(frozen=True)
class _Noun:
    """Something that a submit may refer to."""

    unknown: Callable[[str, Sequence[Any]], Select[Any]]  #: those of the names that the tenant has nothing by
    message: str


_NOUNS: Mapping[str, _Noun] = MappingProxyType(
    {noun: _Noun(partial(queries.unknown_references, noun), f"there is no {noun} {{}}") for noun in queries.REFERENCES}
    | {"definitions": _Noun(definitions.unknown, "there is no version {} of the definitions")}
)


async def check(deps: Dependencies, db: AsyncConnection, caller: Caller, submits: Sequence[Located]) -> None:
    """Check submits that fit their models.

    Raises: InvalidRequest, SourceNotAllowed, MissingScope, NoProviderConfigured, QuotaExceeded, LanguageUnavailable.
    """
    tenant = caller.tenant
    for loc, submit in submits:
        _check_webhook(loc, submit, allow_private=deps.settings.jobs.webhook_private)
    await _check_references(db, tenant, submits)
    for loc, submit in submits:
        await _check_parameters(deps, db, tenant, loc, submit.input)
        _check_paths(deps.settings.http, caller, loc, submit)
        await _check_models(deps, tenant, submit)
        await _check_language(deps, submit)


def _check_webhook(loc: Loc, submit: JobRequest, *, allow_private: bool) -> None:
    """Refuse at once what would never be called; where a name leads is seen when it is called."""
    if submit.webhook is not None and (reason := _not_callable(submit.webhook.url, allow_private=allow_private)):
        at = [*loc, "webhook", "url"]
        raise InvalidRequest(f"{'.'.join(map(str, at))}: {reason}", [(at, reason)])


_ALLOWED_BY = "ASSAY_WEBHOOK_PRIVATE=true allows others, and `assay listen` brings them to a machine of your own"


def _not_callable(url: HttpUrl, *, allow_private: bool) -> str | None:
    if url.username or url.password:
        return "a webhook's URL must not carry a user or a password, which would be stored; check the signature instead"
    if allow_private:
        return None
    if url.scheme != "https":
        return f"webhooks go to https addresses only; {_ALLOWED_BY}"
    if looks_private((url.host or "").strip("[]")):
        return f"webhooks go to public addresses only; {_ALLOWED_BY}"
    return None


async def _check_references(db: AsyncConnection, tenant: str, submits: Sequence[Located]) -> None:
    """Raise InvalidRequest naming each field that refers to something that the tenant does not have."""
    named: defaultdict[str, list[tuple[Loc, str | int]]] = defaultdict(list)
    for loc, submit in submits:
        for mark, place, name in marked_values(submit, loc):
            if isinstance(mark, Reference):
                named[mark.noun].append((place, name))
    faults: list[tuple[list[str | int], str]] = []
    for noun, places in named.items():
        names = sorted({name for _, name in places}, key=str)
        unknown = set((await db.execute(_NOUNS[noun].unknown(tenant, names))).scalars())
        faults += [(list(loc), _NOUNS[noun].message.format(name)) for loc, name in places if name in unknown]
    if faults:
        raise InvalidRequest("; ".join(f"{'.'.join(map(str, loc))}: {msg}" for loc, msg in faults[:3]), faults[:100])


def _check_paths(http: HttpSettings, caller: Caller, loc: Loc, submit: JobRequest) -> None:
    for mark, place, path in marked_values(submit, loc):
        if isinstance(mark, LocalPath) and (reason := _unreadable(http, str(path))):
            error: dict[str, JsonValue] = {"loc": list(place), "msg": reason}
            raise SourceNotAllowed(f"{'.'.join(map(str, place))}: {reason}", errors=[error])
        if isinstance(mark, LocalPath) and "admin" not in caller.scopes:
            raise MissingScope("Folders of the server are read for keys with the scope admin only.")


def _unreadable(http: HttpSettings, path: str) -> str | None:
    """Return why a server folder may not be read; the job reports a missing one."""
    if not http.embedded or not http.is_loopback:
        return "local paths are read by an installation on one machine only; upload an archive"
    folder = Path(path).resolve()
    if not any(folder.is_relative_to(root) for root in http.readable_roots):
        return "this path is not below a folder of ASSAY_DETECT_ROOTS; upload an archive"
    return None


async def _check_parameters(deps: Dependencies, db: AsyncConnection, tenant: str, loc: Loc, input: BaseModel) -> None:
    """Check the parameters of a document in a file as those of a document in the body are.

    Raises: InvalidRequest naming each parameter that does not fit.
    """
    if not isinstance(input, DocumentInput) or input.file_id is None or not input.parameters:
        return
    files = blobs.files
    statement = select(files.c.size, files.c.sha256).where(files.c.id == input.file_id, files.c.tenant_id == tenant)
    row = (await db.execute(statement)).one_or_none()
    if row is None or row.size > _MAX_DOCUMENT_BYTES:
        return
    try:
        content = b"".join([chunk async for chunk in blobs.stream(deps.blobs, row.sha256, 0, row.size)])
    except FileNotFoundError:
        return
    faults = await asyncio.to_thread(parameter_faults, content.decode("utf-8", "replace"), input.parameters)
    errors: list[tuple[list[str | int], str]] = [
        ([*loc, "input", "parameters", name], fault) for name, fault in faults.items()
    ]
    if errors:
        detail = "; ".join(f"{'.'.join(map(str, place))}: {fault}" for place, fault in errors[:3])
        raise InvalidRequest(detail, errors[:100])


async def _check_models(deps: Dependencies, tenant: str, submit: JobRequest) -> None:
    """Check that a model could answer, and that the tenant may still call one today."""
    for role in KINDS[submit.kind].needed_roles(submit.input):
        if not await deps.llm.configured(role):
            raise NoProviderConfigured(
                f"This job needs a model, and no provider has a key here. Set {key_variables()} and restart Assay."
            )
        await deps.llm.ask(lambda: deps.llm.layer.check_allowed(role, tenant))  # noqa: B023 - awaited at once
        await deps.quotas.admit_tokens(tenant)


async def _check_language(deps: Dependencies, submit: JobRequest) -> None:
    language_of = KINDS[submit.kind].language
    if language_of is None:
        return
    language = language_of(submit.input)
    workers = await deps.workforce.serving(submit.kind)
    reported = [worker.facts["languages"] for worker in workers if "languages" in worker.facts]
    states = [languages[language] for languages in reported if language in languages]
    if reported and not any(state.get("available") for state in states):
        reason = next((state["reason"] for state in states if state.get("reason")), "it is not installed")
        raise LanguageUnavailable(f"{language} cannot be run here: {reason}. GET /v1/capabilities lists what can.")


def is_large_kind(content: object) -> bool:
    """Return whether a submit, or a batch with one, is of a kind that takes large bodies."""
    if not isinstance(content, dict):
        return False
    jobs = content.get("jobs")
    submits = jobs if isinstance(jobs, list) else [content]
    kinds = [KINDS.get(str(submit.get("kind"))) for submit in submits if isinstance(submit, dict)]
    return any(kind is not None and kind.large_body for kind in kinds)


async def warnings(deps: Dependencies, kind: str) -> list[str]:
    """Return warnings about a job that is accepted all the same."""
    if await deps.workforce.serving(kind):
        return []
    return [f"{deps.workforce.absence(kind)} The job waits until one can."]


async def doubts(deps: Dependencies, row: Mapping[str, Any]) -> list[str]:
    """Return a warning when the job names a model that its provider is not known to have."""
    input, overrides = row["input"], row["overrides"]
    selector = overrides.get("model") or (input.get("model") if isinstance(input, Mapping) else None)
    if not isinstance(selector, str):
        return []
    models = deps.llm.layer.models
    link = models.named_by(selector)
    doubt = None if link is None else await deps.llm.ask(lambda: models.doubt(link))
    return [doubt] if doubt else []
