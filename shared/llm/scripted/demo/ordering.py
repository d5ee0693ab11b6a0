"""Requests for an order, and for the highest or lowest rows or groups."""

from __future__ import annotations

from dataclasses import replace

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.measures import Measures
from shared.llm.scripted.demo.query import Key, Limit, Measure, NotUnderstood, SortBy
from shared.llm.scripted.demo.tables_seen import ColumnSeen
from shared.llm.scripted.demo.words import Word, parts

_SORTED = frozenset("sort sorted order ordered rank ranked arrange arranged sorting ordering".split())


class Ordering(Measures):
    """How a request orders and ranks."""

    def _cheapest(self, at: int) -> int:
        """``cheapest product``, ``most expensive order``: by the only column that is a price."""
        costly = self.lower(at) == "most" and self.lower(at + 1) == "expensive"
        if not costly and self.lower(at) not in {"cheapest", "dearest", "priciest"}:
            return at
        if self.lower(at + 1 + costly) == "first":  # an order
            return at
        prices = [
            column for table in self.tables for column in table.columns
            if column.is_number and {"price", "cost", "amount"} & set(parts(column.name))
        ]  # fmt: skip
        if len(prices) != 1:
            raise NotUnderstood("It does not see which column is the price.")
        end = at + 2 if costly else at + 1
        self.entity = self.column(end)
        self.top = (1, self.lower(at) != "cheapest", prices[0])
        self.query.ties = True
        return end + 1 if self.entity is not None or self.lower(end) in phrases.ROWS else end

    def _sort(self, at: int) -> int:
        """``sorted by amount descending, then by city``."""
        if self.lower(at) not in _SORTED or not self._is_sort(at):
            return at
        before, end = self._order(self.skip(at + 1, {"it", "them", "rows", "the", "in", "result", "all", "data"}))
        end = self.skip(end, {"rows", "the", "them", "it", "result", "by", "on", "according", "to", "order", "results"})
        targets: list[SortBy] = []
        while (target := self._sort_target(end)) is not None:
            target_sort, end = target
            descending, end = self._order(end)
            targets.append(replace(target_sort, descending=before if descending is None else descending))
            joint = self.skip(end, {",", "and", "then", "by"})
            if self._sort_target(joint) is None:
                break
            end = joint
        self.query.sort += targets or [SortBy(descending=before)]
        return end

    def _is_sort(self, at: int) -> bool:
        """Tell ``order by amount`` from a column or rows named order."""
        if self.lower(at) not in {"order", "rank"}:
            return True
        return self.lower(at + 1) == "by" or self.lower(at + 1) in {"the", "rows", "them", "all"}

    def _sort_target(self, at: int) -> tuple[SortBy, int] | None:
        at = self.skip(at, {"the"})
        if (func := self._function(at)) is not None:
            column = self.column(end := self.skip(func[1], {"of", "the"}))
            known = func[0] != "count" or column is not None
            return SortBy(measure=Measure(func[0], column if known else None)), end + 1 if column else func[1]
        word = self.word(at)
        if word is not None and word.lower in phrases.PERIODS and (word.column is None or word.column.is_date):
            return SortBy(column=self.date_column()), at + 1
        return (SortBy(column=word.column), at + 1) if word is not None and word.column is not None else None

    def _order(self, at: int) -> tuple[bool | None, int]:
        """Read a direction; None when there is none."""
        end = self.skip(at, {"in", "(", ",", "from", "the"})
        word = self.lower(end)
        if word in phrases.ASCENDING | phrases.DESCENDING:
            return word in phrases.DESCENDING, self.skip(end + 1, {"order", ")", "by"} if end > at else {"order"})
        if word in {"most", "least"} and self.lower(end + 1) == "expensive" and self.lower(end + 2) == "first":
            return word == "most", self.skip(end + 3, {")"})
        if word in phrases.FIRST_LOW | phrases.FIRST_HIGH and self.lower(end + 1) in {"first", "to"}:
            end += 1
            end = self.skip(
                end, {"to", *phrases.FIRST_LOW, *phrases.FIRST_HIGH} if self.lower(end) == "to" else {"first"}
            )
            return word in phrases.FIRST_HIGH, self.skip(end, {")"})
        if word in {"a", "z"} and self.lower(end + 1) in {"to", "-"}:
            return word == "z", end + 3
        return None, at

    def _direction(self, at: int) -> int:
        """``highest first`` without a verb; it orders by the last measure, ``newest orders first`` by the date."""
        if self.column(at) is not None:
            return at
        if self.lower(at) in {"newest", "latest", "oldest", "earliest"}:
            end = self.skip(at + 1, phrases.ROWS | {"first"})
            if self.lower(end - 1) == "first":
                self.query.sort.append(SortBy(self.date_column(), descending=self.lower(at) in {"newest", "latest"}))
                return end
        descending, end = self._order(at)
        if descending is None:
            return at
        if self.query.sort and self.query.sort[-1].descending is None:
            self.query.sort[-1] = replace(self.query.sort[-1], descending=descending)
        else:
            self.query.sort.append(SortBy(descending=descending))
        return end

    def _top(self, at: int) -> int:
        """``top 3 cities by total amount``, ``5 largest orders``, ``first 10 rows``."""
        read = self._top_words(at)
        if read is None:
            return at
        rows, word, end = read
        end = self.skip(end, {"of", "the"})
        by_value = word in phrases.HIGH | phrases.LOW
        noun, column = self.word(end), self.column(end)
        if column is not None or (noun is not None and (noun.lower in phrases.ROWS or noun.table is not None)):
            end += 1
        measure, end = self._ranked_by(end) if by_value else (None, end)
        if not by_value and measure is None:
            self.query.limit = Limit(rows, last=word in {"last", "tail"})
            self.bare += [noun] if noun is not None and column is not None else []
            return end
        self.top = (rows, self._is_high(word, measure if isinstance(measure, ColumnSeen) else column), measure)
        if column is not None:
            self.entity = column
        return end

    def _top_words(self, at: int) -> tuple[int, str, int] | None:
        end = self.skip(at, {"the", "only"})
        word, number = self.lower(end), self.word(end + 1)
        after = number is not None and number.number is not None and not number.columns
        if word in {"first", "last"} and not after and self.lower(end + 1) in phrases.ROWS:
            return 1, word, end + 1
        if word in {"top", "bottom", "first", "last", "limit", "head", "tail", "best", "worst"}:
            if after and number is not None:
                end = self.skip(end + 2, {"most", "least"} if self.lower(end + 3) == "by" else ())
                return _rows(number), word, end
            return None
        first = self.word(end)
        if first is not None and first.number is not None and self.lower(end + 1) in phrases.HIGH | phrases.LOW:
            return _rows(first), self.lower(end + 1), end + 2
        if first is not None and first.number is not None and self.lower(end + 1) in {"first", "last"}:
            return _rows(first), self.lower(end + 1), end + 2
        return None

    def _ranked_by(self, at: int) -> tuple[Measure | ColumnSeen | None, int]:
        """Read what the rows are ranked by."""
        ways = {"by", "with", "in", "for", "on", "the", "of", "according", "to", "terms", "their", "having", "ranked"}
        end = self.skip(at, ways | phrases.HIGH | phrases.LOW) if self.lower(at) in ways else at
        if end == at:
            return None, at
        if (func := self._function(end)) is not None:
            end = self.skip(func[1], {"of", "the"})
            column = self.column(end)
            if column is not None:
                return Measure(func[0], column), end + 1
            noun = self.word(end)
            if func[0] == "count" and noun is not None and noun.lower in phrases.ROWS:
                return Measure("count", None, noun.lower), end + 1
            return Measure(func[0], None), func[1]
        word = self.word(end)
        if word is not None and word.column is not None:
            return word.column, end + 1
        if word is not None and (word.lower in phrases.ROWS or word.table):
            return Measure("count", None, word.lower), end + 1
        return None, at

    def _which(self, at: int) -> int:
        """``which city has the highest total amount``, ``the city with the most orders``."""
        end = self.skip(at, {"which", "what", "the", "is", "find", "row", "rows", "who"})
        column = self.column(end)
        rows = self.lower(end - 1) in {"row", "rows", "who"} or self.lower(end) in phrases.ROWS
        if column is None and not rows:
            return at
        end = end + 1 if column is not None or self.lower(end) in phrases.ROWS else end
        verb = self.lower(end)
        if verb not in {
            "has",
            "have",
            "had",
            "with",
            "is",
            "was",
            "got",
            "made",
            "did",
            "having",
            "sold",
            "scored",
            "earned",
            "paid",
            "bought",
            "spent",
            "are",
        }:
            return at
        end = self.skip(end + 1, {"the", "a"})
        word = self.lower(end)
        if word not in phrases.HIGH | phrases.LOW:
            return at
        measure, end = self._ranked_after(end + 1)
        if measure is None:
            return at
        high = self._is_high(word, measure if isinstance(measure, ColumnSeen) else None)
        self.top, self.entity = (1, high, measure), column
        self.query.ties = True
        return end

    def _ranked_after(self, at: int) -> tuple[Measure | ColumnSeen | None, int]:
        if (func := self._function(at)) is not None:
            end = self.skip(func[1], {"of", "the"})
            column, noun = self.column(end), self.lower(end)
            if column is None and func[0] == "count":
                return Measure("count", None, noun if noun in phrases.ROWS else ""), end + (noun in phrases.ROWS)
            return Measure(func[0], column), end + 1 if column is not None else func[1]
        column = self.column(at)
        if column is not None:
            return (column if column.is_number or column.is_date else Measure("nunique", column)), at + 1
        word = self.word(at)
        if word is not None and (word.lower in phrases.ROWS or word.table is not None):
            return Measure("count", None, word.lower), at + 1
        return None, at

    def _settle_top(self) -> None:
        """Turn the top rows into an order and a limit, of groups where the entity repeats."""
        if self.top is None:
            return
        rows, high, measure = self.top
        query, entity = self.query, self.entity
        if measure is None and entity is not None and (entity.is_number or entity.is_date):
            measure, entity = entity, None
        if measure is None:
            measure = query.measures[-1] if query.measures else self.only_number()
            query.measures = query.measures[:-1] if isinstance(measure, Measure) else query.measures
        if isinstance(measure, ColumnSeen) and entity is not None and not query.ties and self._repeats(entity):
            query.notes.append(f"added up {measure.name} for each {entity.name}")
            measure = Measure("sum", measure)
        if isinstance(measure, Measure):
            query.keys = query.keys or ([Key(entity)] if entity is not None else [])
            query.measures = [*query.measures, measure] if measure not in query.measures else query.measures
            query.sort.insert(0, SortBy(measure=measure, descending=high))
        else:
            query.sort.insert(0, SortBy(column=measure, descending=high))
            if query.ties and entity is not None:
                query.select = [entity, measure]
        query.limit = Limit(rows)

    def _repeats(self, column: ColumnSeen) -> bool:
        table = next(table for table in self.tables if table.name == column.table)
        return column.distinct is None or column.distinct < table.rows


def _rows(word: Word) -> int:
    rows = int(word.number or 0)
    if rows < 1:
        raise NotUnderstood("It needs a number of rows that is at least 1.")
    return rows
