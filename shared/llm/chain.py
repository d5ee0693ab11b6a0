"""Chains: which model is asked first, and which ones when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue


@dataclass(frozen=True)
class Link:
    """One model of one provider, with the parameters of its calls by the provider's own names."""

    provider: str
    model: str
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
