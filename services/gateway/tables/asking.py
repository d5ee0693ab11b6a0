"""A question to a table of a stranger, answered by a process of its own with little memory and no secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import structlog
from obstore.store import ObjectStore

from services.gateway.tables.__main__ import REFUSED
from services.gateway.tables.conversion import Conversions
from shared.errors import InvalidRequest, Overloaded

log = structlog.get_logger()

#: A page is read from the beginning of the file each time: a larger one is fetched whole and read where it is needed.
MOST_BYTES = 256 << 20
_SECONDS = 60.0


async def ask(
    conversions: Conversions, store: ObjectStore, sha256: str, size: int, tenant: str, question: Mapping[str, Any]
) -> dict[str, Any]:
    """The answer of ``services.gateway.tables.reader``. Raises: InvalidRequest, NotFound, Overloaded."""
    if size > MOST_BYTES:
        raise InvalidRequest(f"The file has {size:,} bytes; tables of up to {MOST_BYTES:,} are read here. Fetch it.")
    words = orjson.dumps(question).decode()
    async with conversions.process(store, sha256, tenant, "services.gateway.tables.reader", words) as process:
        try:
            async with asyncio.timeout(_SECONDS):
                told, said = await process.communicate()
        except TimeoutError:
            raise Overloaded("The table takes too long to read; fetch the file.", retry_after=60) from None
    if process.returncode == REFUSED:
        raise _refused(said.decode("utf-8", "replace"))
    if process.returncode != 0:
        log.error("table_not_read", status=process.returncode, said=said[-500:].decode("utf-8", "replace"))
        raise Overloaded("The table could not be read with the memory that there is; fetch the file.", retry_after=10)
    answer: dict[str, Any] = orjson.loads(told)
    return answer


def _refused(said: str) -> InvalidRequest:
    field, separator, message = said.partition(": ")
    if separator and field in ("filter", "sort", "columns"):
        return InvalidRequest(f"query.{said}", [(["query", field], message)])
    return InvalidRequest(f"{said[:1].upper()}{said[1:]}.")
