"""A query to an untrusted table, answered by a separate process with little memory and no secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import structlog
from obstore.store import ObjectStore
from pydantic import JsonValue

from services.gateway.tables.conversion import Conversions
from shared.bounded_process import BoundExceeded, Bounds, TaskLost, started
from shared.errors import InvalidRequest, Overloaded

log = structlog.get_logger()

_ANSWER = "services.gateway.tables.tasks:answer_question"
#: A page is read from the beginning of the file each time: a larger one is fetched whole and read where it is needed.
MAX_BYTES = 256 << 20
_SECONDS = 60.0
_MAX_OUTPUT_MB = 512  #: what is written of a packed or a large text table, to be queried


async def ask(
    conversions: Conversions, store: ObjectStore, file: Mapping[str, Any], tenant: str, question: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the answer of ``tasks.answer_question`` about the file of a row of files.

    Raises: InvalidRequest, NotFound, Overloaded.
    """
    if file["size"] > MAX_BYTES:
        size = file["size"]
        raise InvalidRequest(f"The file has {size:,} bytes; tables of up to {MAX_BYTES:,} are read here. Fetch it.")
    bounds = Bounds(conversions.memory_mb, _SECONDS, wall_seconds=2 * _SECONDS, output_mb=_MAX_OUTPUT_MB)
    async with conversions.fetched(store, file["sha256"], tenant) as path:
        argument: JsonValue = {"question": cast(JsonValue, dict(question)), "name": file["name"] or ""}
        try:
            with _descriptors(path) as opened:
                async with started(_ANSWER, argument, bounds, opened) as process:
                    answer = cast(dict[str, Any], await process.answer())
        except TaskLost:
            raise Overloaded("The table could not be read now; try again later.", retry_after=5) from None
        except BoundExceeded as exceeded:
            log.error("table_not_read", reason=str(exceeded))
            raise InvalidRequest(f"The table cannot be read here: {exceeded}. Fetch the file.") from None
    if "refused" in answer:
        raise _refused(answer["refused"])
    return cast(dict[str, Any], answer["answer"])


@contextmanager
def _descriptors(file: Path) -> Iterator[list[int]]:
    """Yield the file to read, and where nothing is written."""
    with file.open("rb") as source, open(os.devnull, "wb") as nothing:
        yield [source.fileno(), nothing.fileno()]


def _refused(reason: str) -> InvalidRequest:
    field, separator, message = reason.partition(": ")
    if separator and field in ("filter", "sort", "columns"):
        return InvalidRequest(f"query.{reason}", [(["query", field], message)])
    return InvalidRequest(f"{reason[:1].upper()}{reason[1:]}.")
