"""The attempts of one search: every query that ran, what it found, and what follows from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from services.search.queries.query import Label, Strategy
from services.search.retrieval.engine import Match
from services.search.retrieval.runner import QueryOutcome
from services.search.tables.catalog import Rewrite
from shared.contracts.search import Attempt, FacetScore, Hit, HitPassage, Thinking

_STRICTNESS: dict[Label, int] = {"exact": 0, "relaxed": 1, "rewritten": 2, "pivoted": 3}


@dataclass(frozen=True)
class SearchAttempt:
    """One attempt: a plan, why it was made, and the outcome of its queries."""

    number: int
    strategy: Strategy
    reasoning: str
    user_message: str
    outcomes: tuple[QueryOutcome, ...]
    gain: int  #: records that no earlier attempt had found

    def view(self) -> Attempt:
        return Attempt(
            number=self.number,
            strategy=self.strategy,
            reasoning=self.reasoning,
            user_message=self.user_message,
            queries=[outcome.view() for outcome in self.outcomes],
        )


@dataclass
class Ledger:
    """Append-only: attempts are added, never changed."""

    attempts: list[SearchAttempt] = field(default_factory=list)
    thinking: list[Thinking] = field(default_factory=list)

    def add(self, strategy: Strategy, reasoning: str, user_message: str, outcomes: Sequence[QueryOutcome]) -> None:
        before, now = _records(self.outcomes), _records(outcomes)
        number = len(self.attempts) + 1
        gain = len(now - before)
        self.attempts.append(SearchAttempt(number, strategy, reasoning, user_message, tuple(outcomes), gain))

    def think(self, message: str, strategy: Strategy, at: datetime) -> Thinking:
        """Record a reflection; ``retry_count`` is the number of retries including this one."""
        thinking = Thinking(message=message, strategy=strategy, retry_count=len(self.thinking) + 1, ts=at)
        self.thinking.append(thinking)
        return thinking

    @property
    def outcomes(self) -> list[QueryOutcome]:
        return [outcome for attempt in self.attempts for outcome in attempt.outcomes]

    @property
    def any_match(self) -> bool:
        return any(outcome.matches for outcome in self.outcomes)

    @property
    def tried_identities(self) -> set[str]:
        """Identities of every query that ran."""
        return {outcome.query.identity for outcome in self.outcomes}

    @property
    def tables(self) -> list[str]:
        return list(dict.fromkeys(outcome.query.table for outcome in self.outcomes))

    @property
    def zero_tables(self) -> list[str]:
        """Tables that were searched and gave nothing in any attempt; a failed query does not count as nothing."""
        with_hits = {outcome.query.table for outcome in self.outcomes if outcome.status == "ok"}
        empty = {outcome.query.table for outcome in self.outcomes if outcome.status == "empty"}
        return [table for table in self.tables if table in empty and table not in with_hits]

    @property
    def weak_tables(self) -> list[str]:
        """Tables that gave hits, all of them weak."""
        strong = {outcome.query.table for outcome in self.outcomes for match in outcome.matches if not match.weak}
        return [
            table
            for table in self.tables
            if table not in strong and any(each.matches for each in self.outcomes if each.query.table == table)
        ]

    @property
    def any_strong(self) -> bool:
        return any(not match.weak for outcome in self.outcomes for match in outcome.matches)

    @property
    def pending_tables(self) -> list[str]:
        """Empty tables that still need another attempt.

        A changed plan replaces the question: only the tables that it names are pending. Mechanical relaxing works table
        by table, so after it every empty table still is.
        """
        zero = self.zero_tables
        latest = self.attempts[-1]
        pivoted = any(outcome.matches and outcome.query.label == "pivoted" for outcome in latest.outcomes)
        if latest.strategy == "initial" or (latest.strategy == "mechanical" and not pivoted):
            return zero
        planned = {
            outcome.query.table for outcome in latest.outcomes if outcome.query.label != "pivoted" or not pivoted
        }
        return [table for table in zero if table in planned]

    @property
    def failed(self) -> list[QueryOutcome]:
        return [outcome for outcome in self.outcomes if outcome.status in ("error", "timeout")]

    def last(self, table: str) -> list[QueryOutcome]:
        """Return the outcomes of the table's queries in the latest attempt that searched it."""
        for attempt in reversed(self.attempts):
            if outcomes := [outcome for outcome in attempt.outcomes if outcome.query.table == table]:
                return outcomes
        return []

    def hits(self) -> dict[str, list[Hit]]:
        """Return every hit, by table: each record once, best first."""
        return {table: hits for table in self.tables if (hits := self._hits_of(table))}

    def rows(self, job_id: str, tenant_id: str, collection_id: str) -> list[Mapping[str, JsonValue]]:
        """Return the attempts as rows of ``search_attempts``."""
        return [
            {
                "job_id": job_id,
                "number": attempt.number,
                "tenant_id": tenant_id,
                "collection_id": collection_id,
                "strategy": attempt.strategy,
                "reasoning": attempt.reasoning,
                "user_message": attempt.user_message,
                "queries": [outcome.view().model_dump(mode="json") for outcome in attempt.outcomes],
                "gain": attempt.gain,
            }
            for attempt in self.attempts
        ]

    def successful_rewrites(self) -> Iterator[Rewrite]:
        """Wordings of the first plan that found nothing, each with the rewording that found a strong match."""
        first = {outcome.query.table: outcome.query.text for outcome in self.attempts[0].outcomes}
        for attempt in self.attempts[1:]:
            for outcome in attempt.outcomes:
                query, before = outcome.query, first.get(outcome.query.table)
                strong = any(not match.weak for match in outcome.matches)
                if query.label == "rewritten" and strong and before and before != query.text:
                    yield Rewrite(query.table, before, query.text)

    def _hits_of(self, table: str) -> list[Hit]:
        numbered = [
            (attempt.number, outcome)
            for attempt in self.attempts
            for outcome in attempt.outcomes
            if outcome.query.table == table and outcome.matches
        ]
        modes = {outcome.query.mode for _, outcome in numbered}
        limit = max((outcome.query.limit for _, outcome in numbered), default=0)
        best: dict[int | str, Hit] = {}
        for number, outcome in numbered:
            # Composites are 0..10 and master scores 0..1: in one list both are 0..1.
            scale = 0.1 if len(modes) > 1 and outcome.query.mode == "faceted" else 1.0
            for match in outcome.matches:
                hit = _hit(match, outcome.query.label, number, scale)
                key = match.id if match.content is None else match.content
                known = best.get(key)
                if known is None:
                    best[key] = hit
                elif known.score < hit.score:
                    # The best score places a hit; the strictest query and the first attempt that found it label it.
                    strictest = min((known.label, hit.label), key=_STRICTNESS.__getitem__)
                    changes = {"label": strictest, "attempt": known.attempt, "passages": _united(hit, known)}
                    best[key] = hit.model_copy(update=changes)
                else:
                    best[key] = known.model_copy(update={"passages": _united(known, hit)})
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.id))[:limit]


def _records(outcomes: Sequence[QueryOutcome]) -> set[tuple[str, str]]:
    return {(outcome.query.table, match.id) for outcome in outcomes for match in outcome.matches}


def _united(first: Hit, second: Hit) -> list[HitPassage]:
    """Return the passages of both, each once; those of the first come first."""
    passages = {(passage.facet, passage.start): passage for passage in (*second.passages, *first.passages)}
    own = [(passage.facet, passage.start) for passage in first.passages]
    return [*first.passages, *(passage for key, passage in passages.items() if key not in own)]


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
        passages=[passage.view((), match.fields.get("page"), scale) for passage in match.passages],
        duplicates=match.copies,
        duplicate_ids=list(match.duplicates),
    )
