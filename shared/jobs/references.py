"""What a job may refer to: files, conversations, flows, collections and jobs of the same tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Select, Text, exists, func, literal, select

from shared.blobs import files
from shared.collections import collections
from shared.conversations import conversations
from shared.flows.tables import flows
from shared.jobs.tables import jobs

#: Each noun with the column that names one, and the column that says whose it is.
_KNOWN: Mapping[str, tuple[ColumnElement[str], ColumnElement[str]]] = MappingProxyType(
    {
        "file": (files.c.id, files.c.tenant_id),
        "conversation": (conversations.c.id, conversations.c.tenant_id),
        "flow": (flows.c.id, flows.c.tenant_id),
        "collection": (collections.c.name, collections.c.tenant_id),
        "job": (jobs.c.id, jobs.c.tenant_id),
    }
)


def unknown(noun: str, tenant: str, names: Sequence[str]) -> Select[Any]:
    """Those of the names that the tenant has nothing by."""
    name, owner = _KNOWN[noun]
    given = func.unnest(literal(list(names), ARRAY(Text))).column_valued("given")
    return select(given).where(~exists().where(name == given, owner == tenant))
