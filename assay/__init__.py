"""Assay's Python client: LLM jobs whose answers are executed and checked before they are returned.

from assay import Client

with Client() as assay:
    job = assay.execute("6 * 7")
    print(job.result(timeout=30).value.text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay._async.client import AsyncClient
    from assay._async.interpreter import AsyncInterpreter
    from assay._async.job import AsyncJob
    from assay._sync.client import Client
    from assay._sync.interpreter import Interpreter
    from assay._sync.job import Job
    from assay.errors import (
        APIConnectionError,
        APIError,
        APIStatusError,
        APITimeoutError,
        BadRequest,
        Conflict,
        Invalid,
        JobFailed,
        JobTimeout,
        MissingScope,
        NotAuthenticated,
        NotFound,
        PreconditionFailed,
        RateLimited,
        ServerError,
        TooLarge,
        Unavailable,
    )
    from assay.events import JobEvent
    from assay.run_text import result_text
    from assay.submits import TableFiles

_HOMES = {
    "AsyncClient": "assay._async.client",
    "AsyncInterpreter": "assay._async.interpreter",
    "AsyncJob": "assay._async.job",
    "Client": "assay._sync.client",
    "Interpreter": "assay._sync.interpreter",
    "Job": "assay._sync.job",
    "JobEvent": "assay.events",
    "TableFiles": "assay.submits",
    "result_text": "assay.run_text",
}

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncClient",
    "AsyncInterpreter",
    "AsyncJob",
    "BadRequest",
    "Client",
    "Conflict",
    "Interpreter",
    "Invalid",
    "Job",
    "JobEvent",
    "JobFailed",
    "JobTimeout",
    "MissingScope",
    "NotAuthenticated",
    "NotFound",
    "PreconditionFailed",
    "RateLimited",
    "ServerError",
    "TableFiles",
    "TooLarge",
    "Unavailable",
    "result_text",
]


def __getattr__(name: str) -> object:
    """Import an exported name on first use, so that ``import assay`` stays cheap."""
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES.get(name, "assay.errors")), name)
