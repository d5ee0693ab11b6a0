"""A tenant exists when it has API keys: a misspelled name would otherwise be accepted without a word."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from shared import keys
from shared.near_names import meant, some

_MAX_COMPARED = 1000


async def warnings(db: AsyncConnection, tenant: str) -> list[str]:
    """Return that no API key belongs to the tenant, and which was probably meant; nothing when it has keys.

    It is not refused: an administrator may set what holds for a tenant before its first key is made.
    """
    if (await db.execute(keys.any_of(tenant))).scalar_one():
        return []
    names = (await db.execute(keys.tenants(_MAX_COMPARED))).scalars().all()
    likely = meant(tenant, names) or f"Tenants with keys are {some(names)}."
    return [
        f"No API key belongs to the tenant {tenant!r}. {likely}",
        f"Create the first key of a new tenant: assay keys create --tenant {tenant} --name NAME --scope write",
    ]
