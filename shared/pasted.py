"""Values as people paste them: keys and addresses from files, pages and editors."""

from __future__ import annotations

#: Written around values by editors and pages, without being seen: byte order marks, spaces of no width.
_UNSEEN = "\ufeff\u200b\u2060"


def bare(value: str) -> str:
    """Return the value without what is around it: white space, marks that are not seen, and one pair of quotes."""
    outer = None
    while outer != value:
        outer, value = value, value.strip().strip(_UNSEEN)
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return value
