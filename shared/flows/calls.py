"""A tool call and its outcome, as the engine sees them."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.contracts.flow import Execution
from shared.flows.document import Json


@dataclass(frozen=True)
class Call:
    name: str
    params: Json = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class CallOutcome:
    """The outcome of one call; ``error`` is None if it succeeded."""

    call: Call
    error: str | None = None
    node_id: str | None = None
    edge_id: str | None = None
    group_id: str | None = None
    did_change: bool | None = None
    wanted: str | None = None  #: the name that was not found
    suggestions: tuple[str, ...] = ()
    rolled_back: bool = False
    repeated: bool = False  #: an earlier attempt of the same turn had done it already

    @property
    def success(self) -> bool:
        return self.error is None

    def contract(self) -> Execution:
        """Return the outcome in the form of the API."""
        return Execution(
            success=self.success,
            node_id=self.node_id,
            edge_id=self.edge_id,
            group_id=self.group_id,
            error=self.error,
            suggestions=list(self.suggestions),
            did_change=self.did_change,
            rolled_back=self.rolled_back,
        )
