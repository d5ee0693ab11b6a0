"""The attempts of one search: every query that ran, what it found, and what is known because of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from services.search.engine import Match
from services.search.query import Label, Query, Strategy
from shared.contracts.search import Attempt, ExecutedQuery, FacetScore, Hit, Thinking

Status = Literal["ok", "empty", "error", "timeout"]
_BY_LABEL: dict[Label, int] = {"exact": 0, "relaxed": 1, "rewritten": 2, "pivoted": 3}


@dataclass(frozen=True)
class Executed:
    """A query that ran. An error is never an empty result."""

    query: Query
    status: Status
    matches: tuple[Match, ...]
    threshold: float | None  #: that was applied
    error: str | None  #: its stable code
    seconds: float

    def shown(self) -> ExecutedQuery:
        return ExecutedQuery(
            table=self.query.table,
            search_mode=self.query.mode,
            query_text=self.query.text,
            limit=self.query.limit,
            score_threshold=self.threshold,
            filters=self.query.merged,
            hits=len(self.matches),
            error=self.error,
            ms=round(self.seconds * 1000, 3),
        )


@dataclass(frozen=True)
class Try:
    """One attempt: a plan, why it was made, and what came of it."""

    number: int
    strategy: Strategy
    reasoning: str
    user_message: str
    executed: tuple[Executed, ...]
    gain: int  #: records that no earlier attempt had found

    def shown(self) -> Attempt:
        return Attempt(
            number=self.number,
            strategy=self.strategy,
            reasoning=self.reasoning,
            user_message=self.user_message,
            queries=[item.shown() for item in self.executed],
        )


@dataclass
class Ledger:
    """Grows by attempts; nothing in it is ever replaced."""

    tries: list[Try] = field(default_factory=list)
    thinking: list[Thinking] = field(default_factory=list)

    def add(self, strategy: Strategy, reasoning: str, user_message: str, executed: Sequence[Executed]) -> Try:
        known = self._ids()
        found = {(item.query.table, match.id) for item in executed for match in item.matches}
        number = len(self.tries) + 1
        done = Try(number, strategy, reasoning, user_message, tuple(executed), len(found - known))
        self.tries.append(done)
        return done

    def think(self, message: str, strategy: Strategy, at: datetime) -> Thinking:
        """The record of a reflection; its count is the number of retries including this one."""
        said = Thinking(message=message, strategy=strategy, retry_count=len(self.thinking) + 1, ts=at)
        self.thinking.append(said)
        return said

    @property
    def executed(self) -> list[Executed]:
        return [item for done in self.tries for item in done.executed]

    @property
    def tried(self) -> set[str]:
        """Identities of everything that ran."""
        return {item.query.identity for item in self.executed}

    @property
    def tables(self) -> list[str]:
        return list(dict.fromkeys(item.query.table for item in self.executed))

    @property
    def zero_tables(self) -> list[str]:
        """Tables that were searched, by whichever attempt, and gave nothing in any; an outage is not nothing."""
        found = {item.query.table for item in self.executed if item.status == "ok"}
        empty = {item.query.table for item in self.executed if item.status == "empty"}
        return [table for table in self.tables if table in empty and table not in found]

    @property
    def pending_tables(self) -> list[str]:
        """Empty tables that are still to be looked into.

        Once a changed plan has found something in every table that it names, the question has moved there; only what
        was relaxed by hand, table by table, leaves others waiting.
        """
        zero = self.zero_tables
        latest = self.tries[-1]
        pivoted = any(item.matches and item.query.label == "pivoted" for item in latest.executed)
        if latest.strategy == "initial" or (latest.strategy == "mechanical" and not pivoted):
            return zero
        planned = {item.query.table for item in latest.executed if item.query.label != "pivoted" or not pivoted}
        return [table for table in zero if table in planned]

    @property
    def failed(self) -> list[Executed]:
        return [item for item in self.executed if item.status in ("error", "timeout")]

    def last(self, table: str) -> list[Executed]:
        """The table's queries of the latest attempt that searched it."""
        for done in reversed(self.tries):
            if mine := [item for item in done.executed if item.query.table == table]:
                return mine
        return []

    def hits(self) -> dict[str, list[Hit]]:
        """Everything found, by table: each record once, best first."""
        return {table: hits for table in self.tables if (hits := self._hits_of(table))}

    def _hits_of(self, table: str) -> list[Hit]:
        rows = [(done.number, item) for done in self.tries for item in done.executed if item.query.table == table]
        modes = {item.query.mode for _, item in rows if item.matches}
        limit = max((item.query.limit for _, item in rows if item.matches), default=0)
        best: dict[str, Hit] = {}
        for number, item in rows:
            # Composites are 0..10 and master scores 0..1: in one list both are 0..1.
            scale = 0.1 if len(modes) > 1 and item.query.mode == "faceted" else 1.0
            for match in item.matches:
                hit = _hit(match, item.query.label, number, scale)
                known = best.get(match.id)
                if known is None:
                    best[match.id] = hit
                elif known.score < hit.score:
                    # Found by several queries: the first way it was found names it, the best score places it.
                    strictest = min((known.label, hit.label), key=_BY_LABEL.__getitem__)
                    best[match.id] = hit.model_copy(update={"label": strictest, "attempt": known.attempt})
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.id))[:limit]

    def _ids(self) -> set[tuple[str, str]]:
        return {(item.query.table, match.id) for item in self.executed for match in item.matches}


def _hit(match: Match, label: Label, attempt: int, scale: float) -> Hit:
    return Hit(
        id=match.id,
        name=match.name,
        score=round(match.score * scale, 6),
        label=label,
        facets=[FacetScore(key=key, score=round(score, 6)) for key, score in match.facets],
        fields=dict(match.fields),
        similarity=None if match.similarity is None else round(match.similarity, 6),
        weak=match.weak,
        attempt=attempt,
    )
