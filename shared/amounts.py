"""Amounts as a person writes them."""

from __future__ import annotations


def amount(count: int, noun: str) -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
