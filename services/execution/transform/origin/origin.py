"""Where a result came from: which data sets the code needed, which columns reached it, and what no data explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shared.contracts.transform import UnverifiedReason

Sources = list[str] | Literal["literal"]
_MAX_NAMED = 10


@dataclass(frozen=True)
class Origin:
    """What running the code on altered copies of its data has shown."""

    read: Mapping[str, bool] = field(default_factory=dict)  #: of each data set: whether the code needed it
    overwritten: tuple[str, ...] = ()  #: data sets that were not read, and whose name the code binds itself
    explained: float | None = None  #: share of the result's values that depend on the data, 0..1
    literals: tuple[str, ...] = ()  #: columns of the result that stay the same whatever the data are
    invented: bool = False  #: the values of the result, or of most of its rows, depend on nothing in the data
    unknown: str = ""  #: why the values could not be traced
    optional: frozenset[str] = frozenset()  #: data sets that the code may leave alone

    @property
    def reasons(self) -> list[UnverifiedReason]:
        """What keeps the result from being one that came from the data."""
        unread = [name for name, read in self.read.items() if not read and name not in self.optional]
        reasons = [_overwritten(name) if name in self.overwritten else _unread(name) for name in unread]
        if self.invented and any(self.read.values()):
            reasons.append(_invented(self.literals))
        if self.unknown and not reasons:
            reasons.append(UnverifiedReason(code="origin_unknown", message=self.unknown))
        return reasons


def _unread(name: str) -> UnverifiedReason:
    return UnverifiedReason(
        code="input_not_read", message=f"The code never reads the data set {name}: it gives the same without it."
    )


def _overwritten(name: str) -> UnverifiedReason:
    return UnverifiedReason(
        code="input_overwritten",
        message=f"The code assigns to {name} before it reads the data set {name}.",
    )


def _invented(literals: Sequence[str]) -> UnverifiedReason:
    columns = ", ".join(literals[:_MAX_NAMED]) or "most rows"
    return UnverifiedReason(
        code="invented_values",
        message=f"These values do not come from the data, they stay the same when the data change: {columns}.",
    )


def lineage_text(lineage: Mapping[str, Sources]) -> str:
    """Return the lineage in one line."""
    parts = [
        f"{name}: {sources}" if isinstance(sources, str) else f"{name}: from {', '.join(sources[:_MAX_NAMED])}"
        for name, sources in lineage.items()
    ]
    return "; ".join(parts)
