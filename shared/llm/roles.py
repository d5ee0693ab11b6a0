"""The roles that models play, and which vendors' models play them unless an operator says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from shared.llm.chat import ChainLink
from shared.llm.vendors.table import VENDORS

Chain = tuple[ChainLink, ...]
Effort = Literal["quick", "thorough"]

#: The same string in configuration, registry, prompt key and call.
ROLES: Mapping[str, Effort] = MappingProxyType(
    {
        "execution.transform": "quick",
        "flows.edit": "quick",
        "stacks.identify": "quick",
        "search.plan": "thorough",
        "search.reflect": "thorough",
        "search.answer": "thorough",
        "documents.instruction": "quick",
    }
)


def default_chain(role: str) -> Chain:
    """The vendors that have a place for roles of this effort, in order."""
    placed = [(getattr(vendor.defaults, ROLES[role]), vendor.link) for vendor in VENDORS.values()]
    return tuple(link for place, link in sorted(placed, key=lambda pair: pair[0] or 0) if place is not None)
