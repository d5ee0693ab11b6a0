"""Read a request about tables word by word: a word that no rule reads makes the request not understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.conditions import Conditions
from shared.llm.scripted.demo.query import Computed, Func, Key, Limit, Measure, NotUnderstood, Predicate, Query, SortBy
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen
from shared.llm.scripted.demo.words import Word, parts, words_of

_PUNCTUATION = frozenset(",;:.?!()")
_SORTED = frozenset("sort sorted order ordered rank ranked arrange arranged sorting ordering".split())
_DROPS = frozenset(["drop", "remove", "delete", "exclude", "omit", "without", "discard"])
_KEEPS = frozenset("keep only select show columns column list display".split())
_JOINS = frozenset("join joined merge merged combine combined match matched enrich link lookup vlookup".split())
_HOW = {"left": "left", "inner": "inner", "outer": "outer", "full": "outer"}
_UNIQUE = frozenset(["distinct", "unique", "different"])
_DUPLICATES = frozenset(["duplicate", "duplicates", "duplicated", "repeated", "deduplicate", "dedupe", "dedup"])
_SHARES = frozenset("share shares percentage percentages percent proportion proportions fraction".split())


class TaskParser(Conditions):
    """One request; ``parse`` gives its query."""

    def __init__(self, task: str, tables: Sequence[TableSeen]) -> None:
        super().__init__(words_of(task, tables), tables)
        self.top: tuple[int, bool, Measure | ColumnSeen | None] | None = None  #: rows, whether the highest, of what
        self.one_row = False  #: one row per group is asked for, and not how it is computed
        self.entity: ColumnSeen | None = None  #: whose groups or rows the top ones are
        self.bare: list[Word] = []  #: columns that are only named

    def parse(self) -> Query:
        """Raises: NotUnderstood."""
        at, unknown = 0, []
        rules: Sequence[Callable[[int], int]] = (
            self._assign, self._cheapest, self._count, self._which, self._top, self._share, self._aggregate,
            self._group, self._sort, self._direction, self._rename, self._join, self._compute, self._fill, self._change,
            self._round, self._duplicates, self._distinct, self._statistics, self._missing, self._drop,
            self._add_columns, self._keep, self.condition, self._column,
        )  # fmt: skip
        while at < len(self.words):
            end = next((end for rule in rules if (end := rule(at)) > at), at)
            if end == at and not self._is_filler(self.words[at]):
                unknown.append(self.words[at].text)
            at = max(end, at + 1)
        if unknown:
            raise NotUnderstood(f"It does not understand {', '.join(map(repr, dict.fromkeys(unknown)))} here.")
        self._settle_top()
        self._settle_bare()
        self._settle_rows()
        if self.query.is_empty:
            raise NotUnderstood("It finds no operation in this task.")
        return self.query

    def _is_filler(self, word: Word) -> bool:
        if word.quoted or word.columns or word.values or word.number is not None:
            return False
        named = word.table is not None or word.lower in phrases.FILLERS or word.lower in _PUNCTUATION
        return named or word.lower in phrases.ROWS

    # Counting and aggregates

    def _count(self, at: int) -> int:
        """``how many orders``, ``number of distinct customers``, ``count rows``."""
        if self.lower(at) == "how" and self.lower(at + 1) == "many":
            end = at + 2
        elif self.lower(at) in {"number", "count", "counts"} and not self._is_exact_column(at):
            end = at + 1
        else:
            return at
        end = self.skip(end, {"of", "the", "all", "up"})
        distinct = self.lower(end) in _UNIQUE
        end = self.skip(end, _UNIQUE)
        word = self.word(end)
        column = self.column(end)
        if column is not None and not self._names_group(end):
            self.query.measures.append(self._count_of(column, word, distinct=distinct))
            return end + 1
        if word is not None and (word.lower in phrases.ROWS or word.table is not None):
            self.query.measures.append(Measure("count", None, word.lower))
            return end + 1
        if distinct:
            raise NotUnderstood("It does not see what is to be counted once.")
        self.query.measures.append(Measure("count", None))
        return end

    def _count_of(self, column: ColumnSeen, word: Word | None, *, distinct: bool) -> Measure:
        plural = word is not None and word.plural
        if distinct or (plural and not column.is_number):
            self.query.notes.append(f"counted each {column.name} once")
            return Measure("nunique", column)
        return Measure("count", column)

    def _names_group(self, at: int) -> bool:
        return self.lower(at - 1) in phrases.GROUP

    def _aggregate(self, at: int) -> int:
        """``total amount and tax``, ``min, max of price``, ``highest amount``."""
        functions, end = self._functions(at)
        if not functions:
            return at
        end = self.skip(end, {"of", "the", "for", "all", "value", "values", "in"} if self._leads_to_column(end) else ())
        columns, end = self.columns(end)
        for func in functions:
            if func == "count" and not columns:
                self.query.measures.append(Measure("count", None))
            else:
                self.query.measures += [Measure(func, column) for column in columns or [None]]  # type: ignore[list-item]
        return end

    def _leads_to_column(self, at: int) -> bool:
        end = self.skip(at, {"of", "the", "for", "all", "value", "values", "in"})
        return self.column(end) is not None

    def _cheapest(self, at: int) -> int:
        """``cheapest product``, ``most expensive order``: by the only column that is a price."""
        costly = self.lower(at) == "most" and self.lower(at + 1) == "expensive"
        if not costly and self.lower(at) not in {"cheapest", "dearest", "priciest"}:
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

    def _functions(self, at: int) -> tuple[list[Func], int]:
        functions: list[Func] = []
        end = at
        while (func := self._function(end)) is not None:
            functions.append(func[0])
            end = self.skip(func[1], {"up"} if func[0] == "sum" else ())
            joint = self.skip(end, {",", "and", "&", "/"})
            if joint == end or self._function(joint) is None:
                break
            end = joint
        return functions, end

    def _function(self, at: int) -> tuple[Func, int] | None:
        word = self.word(at)
        if word is None or word.quoted or self._is_exact_column(at):
            return None
        if word.lower == "standard" and self.lower(at + 1) == "deviation":
            return "std", at + 2
        if word.lower in phrases.AGGREGATES:
            return phrases.AGGREGATES[word.lower], at + 1
        if word.lower in phrases.HIGH | phrases.LOW and self._leads_to_column(at + 1):
            column = self.column(self.skip(at + 1, {"of", "the", "all", "value", "values"}))
            if column is not None and column.type == "string" and not column.is_date:
                return None
            return ("max" if self._is_high(word.lower, column) else "min"), at + 1
        return None

    def _is_exact_column(self, at: int) -> bool:
        """Return whether the word names a column, and the next word is not the column that it works on."""
        word = self.word(at)
        if word is None or word.column is None or word.partial:
            return False
        following = self.word(self.skip(at + 1, {"of", "the"}))
        return following is None or following.column is None

    @staticmethod
    def _is_high(word: str, column: ColumnSeen | None) -> bool:
        if column is not None and column.is_date and word in phrases.DATE_LOW:
            return False
        return word in phrases.HIGH or word in phrases.DATE_HIGH or word == "last"

    def _share(self, at: int) -> int:
        if self.lower(at) not in _SHARES or self.column(at) is not None:
            return at
        self.query.share = True
        end = self.skip(at + 1, {"of", "the", "each", "all", "in", "as", "a"})
        column = self.column(end)
        if column is not None and column.is_number:
            self.query.measures.append(Measure("sum", column))
            return end + 1
        if column is None and self.lower(end) in phrases.ROWS:
            self.query.measures.append(Measure("count", None, self.lower(end)))
            return end + 1
        return at + 1 if column is None else self._shared_by(end)

    def _shared_by(self, at: int) -> int:
        column = self.column(at)
        assert column is not None
        self.query.keys.append(Key(column))
        return at + 1

    # Groups and order

    def _group(self, at: int) -> int:
        """``by city and month``, ``for each city``, ``monthly``."""
        word = self.lower(at)
        if word in {"one", "a", "single"} and self.lower(at + 1) in {"row", "line", "record"}:
            end = self.skip(at + 2, {"for"})
            self.one_row = self.lower(end) in phrases.GROUP
            return end if self.one_row else at
        if word in phrases.PERIODS and word.endswith("ly") and self.column(at) is None:
            self._add_key(Key(self.date_column(), phrases.PERIODS[word]))
            return at + 1
        end = self.skip(at, {"group", "grouped", "broken", "down", "split", "separately"})
        start = end
        end = self.skip(end, {"for", "in", "of"}) if self.lower(end + 1) in {"each", "every"} else end
        if self.lower(end) not in phrases.GROUP:
            return at if start == at else start
        end = self.skip(end + 1, {"each", "every", "the", "column"})
        keys, end = self._keys(end)
        for key in keys:
            self._add_key(key)
        return end if keys else at

    def _add_key(self, key: Key) -> None:
        if key not in self.query.keys:
            self.query.keys.append(key)

    def _keys(self, at: int) -> tuple[list[Key], int]:
        keys: list[Key] = []
        end = at
        while (key := self._key(end)) is not None:
            keys.append(key[0])
            end = key[1]
            joint = self.skip(end, {",", "and", "&", "then", "by", "per", "each", "the"})
            if joint == end or self._key(joint) is None or self._function(joint) is not None:
                break
            end = joint
        return keys, end

    def _key(self, at: int) -> tuple[Key, int] | None:
        word = self.word(at)
        if word is None:
            return None
        if word.lower in phrases.PERIODS and (word.column is None or word.partial or word.column.is_date):
            period = phrases.PERIODS[word.lower]
            end = self.skip(at + 1, {"of", "the"})
            column = self.column(end)
            if column is not None and column.is_date and end > at:
                return Key(column, period), end + 1
            return Key(self.date_column(), period), at + 1
        return (Key(word.column), at + 1) if word.column is not None else None

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

    # The first or the best rows

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

    # Columns and rows

    def _rename(self, at: int) -> int:
        """``rename city to town, amount to total``."""
        if self.lower(at) not in {"rename", "call", "renamed"}:
            return at
        end = at + 1
        while True:
            end = self.skip(end, {"the", "column", "columns", ",", "and", "from", "rename", "field", "header"})
            column = self.column(end)
            to = self.skip(end + 1, {"to", "as", "into", "=", "-", ">", "column"})
            word = self.word(to)
            if column is None or word is None or (to == end + 1 and self.lower(at) != "call"):
                break
            text, to = self.phrase(to)
            self.query.rename.append((column, text))
            self._alias(text, column, to)
            end = to
            joint = self.skip(end, {",", "and", "the", "column", "rename"})
            if joint == end or self.column(joint) is None or self.lower(joint + 1) not in {"to", "as", "into", "="}:
                break
        return end if self.query.rename else at

    def phrase(self, at: int) -> tuple[str, int]:
        """Read a new name: quoted, or words up to the next joint."""
        word = self.word(at)
        assert word is not None
        if word.quoted:
            return word.text, at + 1
        texts: list[str] = []
        ends = {",", ";", ".", "and", "then", "=", "as", "to", "by", "with", "where", "("}
        while (word := self.word(at)) is not None and (not texts or (word.lower not in ends)):
            texts.append(word.text)
            at += 1
            if word.text.isidentifier() and self.lower(at) in {"sorted", "sort", "per", "for", "from"}:
                break
        return " ".join(texts), at

    def _join(self, at: int) -> int:
        """``join the places on city``, ``left join orders with customers by customer_id``."""
        how = _HOW.get(self.lower(at))
        end = at + 1 if how is not None else at
        if self.lower(end) == "look" and self.lower(end + 1) == "up":
            end += 1
        elif self.lower(end) not in _JOINS or self.column(end) is not None:
            return at
        if len(self.tables) < 2:
            raise NotUnderstood("There is one data set; add the second with --data NAME=FILE.")
        self.query.join, self.query.how = True, how or "left"  # type: ignore[assignment]
        end += 1
        while (word := self.word(end)) is not None and word.lower not in {"on", "by", "using", "via", ",", ";", "."}:
            if word.columns and word.table is None and self.lower(end - 1) != "the":
                break
            known = word.table is not None or word.lower in phrases.FILLERS | {"into", "both", "two", "onto", "up"}
            if not known and not (len(self.tables) == 2 and self.lower(end + 1) in {"with", "and", "to", "table"}):
                break
            end += 1
        if self.lower(end) in {"on", "by", "using", "via"}:
            columns, after = self.columns(
                self.skip(end + 1, {"the", "column", "columns", "shared", "common", "key"}), "="
            )
            self.query.on = tuple(columns)
            end = after if columns else self.skip(end + 1, {"the", "shared", "common", "column", "key"})
        return end

    def _assign(self, at: int) -> int:
        """``total = amount * 2``: before the words of the name are read otherwise."""
        return self._compute(at) if self.lower(at + 1) == "=" else at

    def _compute(self, at: int) -> int:
        """``add a column total = price * quantity``, ``profit = price minus cost``."""
        end = self.skip(
            at, {"add", "a", "an", "new", "column", "named", "called", "compute", "calculate", "create", "the"}
        )
        adds = end > at and self.lower(at) in {"add", "compute", "calculate", "create", "new", "column"}
        word = self.word(end)
        if word is None or not (adds or self.lower(end + 1) == "="):
            return at
        equals = next((i for i in range(end + 1, min(end + 6, len(self.words))) if self._is_assignment(i)), None)
        if equals is None:
            return at
        expression, after = self._expression(self.skip(equals + 1, {"the", "of", "being"}))
        if not any(isinstance(part, ColumnSeen) for part in expression):
            return at
        if len(expression) == 1 and not adds:
            return at
        name = word.text if word.quoted else "_".join(self.words[i].text for i in range(end, equals))
        self.query.computed.append(Computed(name, tuple(expression)))
        self._alias(name, ColumnSeen(self.tables[0].name, name, "float"), after)
        return after

    def _alias(self, name: str, column: ColumnSeen, start: int) -> None:
        """Let later words name a column as the task has called it."""
        self.words = [
            replace(word, columns=(column,), partial=False)
            if at >= start and word.lower == name.casefold() and not word.columns
            else word
            for at, word in enumerate(self.words)
        ]

    def _is_assignment(self, at: int) -> bool:
        return self.lower(at) in {"=", "as", "with", ":", "from", "is"}

    def _expression(self, at: int) -> tuple[list[ColumnSeen | float | int | str], int]:
        expression: list[ColumnSeen | float | int | str] = []
        end = at
        while True:
            word = self.word(end)
            if word is None or (word.column is None and word.number is None):
                return (expression[:-1], end - 1) if expression else ([], at)
            expression.append(word.column if word.column is not None else word.number or 0)
            end += 1
            percent = word.column is None and self.lower(end) in {"%", "percent"}
            if percent:
                expression[-1:] = [(word.number or 0) / 100]
                end = self.skip(end + 1, {"of"}) if self.lower(end + 1) == "of" else end + 1
                operator, length = ("*", 0) if self.lower(end - 1) == "of" else self._operator(end)
            else:
                operator, length = self._operator(end)
            if not operator:
                return expression, end
            expression.append(operator)
            end += length

    def _operator(self, at: int) -> tuple[str, int]:
        for length in (2, 1):
            key = tuple(self.lower(at + i) for i in range(length))
            if key in phrases.ARITHMETIC:
                return phrases.ARITHMETIC[key], length
        return "", 0

    def _fill(self, at: int) -> int:
        """``fill missing amounts with 0``, ``replace empty notes by 'none'``."""
        if self.lower(at) not in {"fill", "replace", "set"}:
            return at
        end = self.skip(
            at + 1,
            {
                "in",
                "the",
                "missing",
                "empty",
                "blank",
                "null",
                "values",
                "value",
                "of",
                "cells",
                "all",
                "nulls",
                "column",
            },
        )
        if (
            not any(self.lower(i) in {"missing", "empty", "blank", "null", "nulls"} for i in range(at, end))
            and self.lower(at) != "fill"
        ):
            return at
        column = self.column(end)
        to = self.skip(end + 1, {"with", "by", "to", "values", "value", "the", "in", "column"})
        word = self.word(to)
        if column is None or word is None:
            return at
        value: object = word.number if word.number is not None and not word.quoted else word.text
        if column.is_number and not isinstance(value, (int, float)):
            raise NotUnderstood(f"It fills {column.name} with a number only, not with {word.text!r}.")
        self.query.fill.append((column, value))
        return to + 1

    def _change(self, at: int) -> int:
        """``make city upper case``, ``uppercase the city``."""
        end = self.skip(at, {"make", "convert", "turn", "change", "put", "write", "the", "column"})
        column = self.column(end)
        if column is not None and end > at:
            change, after = self._text_change(self.skip(end + 1, {"to", "into", "in", "all"}))
        else:
            change, after = self._text_change(end)
            after = self.skip(after, {"the", "column"})
            column = self.column(after)
            after += 1
        if not change or column is None:
            return at
        self.query.changed.append((column, change))
        return after

    def _text_change(self, at: int) -> tuple[str, int]:
        for length in (2, 1):
            key = tuple(self.lower(at + i) for i in range(length))
            if key in phrases.TEXT_CHANGES:
                return phrases.TEXT_CHANGES[key], at + length
        return "", at

    def _round(self, at: int) -> int:
        if self.lower(at) not in {"round", "rounded"}:
            return at
        end = at + 1
        while self.column(end) is not None or self.lower(end) in {
            "the",
            "to",
            "it",
            "them",
            "all",
            "numbers",
            "result",
        }:
            end += 1
        word = self.word(end)
        if word is None or word.number is None:
            self.query.digits = 0
            return self.skip(end, {"integer", "integers", "whole", "nearest"})
        self.query.digits = int(word.number)
        return self.skip(end + 1, {"decimals", "decimal", "places", "digits", "place", "digit"})

    def _duplicates(self, at: int) -> int:
        end = self.skip(at, _DROPS | {"the", "all", "rows", "exact"})
        if self.lower(end) not in _DUPLICATES:
            return at
        if end == at and not self.lower(at).startswith("dedup"):
            raise NotUnderstood("It can remove duplicates; it cannot list them.")
        end = self.skip(
            end + 1,
            {"rows", "row", "records", "entries", "values", "of", "by", "on", "in", "the", "based", "orders", "all"},
        )
        columns, end = self.columns(end)
        self.query.unique_by = columns
        return end

    def _distinct(self, at: int) -> int:
        """``distinct cities``, ``which cities are there``."""
        word = self.lower(at)
        if word in _UNIQUE:
            end = self.skip(at + 1, {"values", "of", "the", "in", "combinations", "value", "column"})
            columns, end = self.columns(end)
            if not columns and self.lower(end) in phrases.ROWS:
                self.query.unique_by, end = [], end + 1
            elif not columns:
                return at
            self.query.select += [column for column in columns if column not in self.query.select]
            self.query.distinct = bool(columns)
            return end
        column, verb = self.column(at + 1), self.lower(at + 2)
        there = self.lower(at + 3) in {"there", "in", "exist", ""} or verb == "exist"
        if word in {"which", "what"} and column is not None and verb in {"are", "exist", "do"} and there:
            self.query.select.append(column)
            self.query.distinct = True
            return self.skip(at + 2, {"are", "there", "exist", "do", "we", "have", "in", "the", "data"})
        return at

    def _statistics(self, at: int) -> int:
        end = self.skip(at, {"summary", "descriptive", "basic"})
        if self.lower(end) in {"statistics", "stats", "describe", "summarize", "summarise", "summary"} or end > at:
            self.query.statistics = True
            return max(end, at) + (self.lower(end) in {"statistics", "stats", "describe", "summarize", "summarise"})
        return at

    def _missing(self, at: int) -> int:
        """``drop rows with missing note``, ``remove empty rows``."""
        if self.lower(at) not in _DROPS:
            return at
        end = self.skip(
            at + 1,
            {
                "all",
                "the",
                "rows",
                "row",
                "records",
                "with",
                "where",
                "having",
                "that",
                "have",
                "any",
                "a",
                "in",
                "which",
                "are",
                "is",
                "orders",
            },
        )
        before = self.columns(end)[0]
        ends = self.columns(end)[1] if before else end
        ends = self.skip(ends, {"is", "are", "has", "no"}) if before else ends
        if self.lower(ends) not in {"missing", "empty", "null", "nulls", "blank", "nan", "blanks"}:
            return at
        end = self.skip(
            ends + 1, {"value", "values", "cells", "in", "for", "of", "the", "rows", "row", "data", "any", "column"}
        )
        columns, end = (before, end) if before else self.columns(end)
        self.query.complete = [*(self.query.complete or []), *columns]
        return end

    def _drop(self, at: int) -> int:
        """``drop the column note``; ``remove rows where`` is a condition."""
        if self.lower(at) not in _DROPS:
            return at
        end = self.skip(at + 1, {"the", "column", "columns", "field", "fields"})
        rows = self.lower(end) in phrases.ROWS | {"all"} and self.column(end) is None
        if rows:
            return self.negated_condition(self.skip(end, phrases.ROWS | {"all", "the"}))
        columns, after = self.columns(end)
        names_rows = self.word(end) is not None and self.words[end].values and not self._says_column(at, end)
        if not columns or names_rows or self.comparison(after)[0] is not None:
            return self.negated_condition(end)
        self.query.drop += columns
        return self.skip(after, {"column", "columns"})

    def _says_column(self, start: int, end: int) -> bool:
        return any(self.lower(i) in {"column", "columns", "field", "fields"} for i in range(start, end))

    def _add_columns(self, at: int) -> int:
        """``add the country from places``: columns of another table beside those of the first."""
        if self.lower(at) not in {"add", "append", "attach", "include", "bring", "lookup", "get"}:
            return at
        end = self.skip(at + 1, {"the", "in", "column", "columns", "up", "a", "each", "its"})
        columns, after = self.columns(end)
        first = self.tables[0]
        if not columns or any(first.column(column.name) is not None for column in columns):
            return at
        self.query.join = True
        self.query.select += [*first.columns, *columns]
        while (word := self.word(after)) is not None and (
            word.table or word.lower in {"from", "in", "to", "the", "of"}
        ):
            after += 1
        return after

    def _keep(self, at: int) -> int:
        """``keep only city and amount``, ``show the columns city, amount``."""
        end = self.skip(at, _KEEPS | {"the", "me"})
        if end == at or not ({self.lower(i) for i in range(at, end)} & _KEEPS):
            return at
        columns, after = self.columns(end)
        if not columns or self.comparison(after)[0] is not None or self._is_condition(end, after):
            return at
        if len(columns) == 1 and not self._says_column(at, end) and self.lower(at) not in {"keep", "only", "select"}:
            return at
        self.query.select += [column for column in columns if column not in self.query.select]
        return self.skip(after, {"column", "columns"})

    def _is_condition(self, start: int, end: int) -> bool:
        """Return whether the column is followed by what it must be."""
        following = self.word(self.skip(end, phrases.IS))
        if following is None or start + 1 != end:
            return bool(self.words[start].values)
        return bool(following.values) or following.quoted or self.lower(end) in phrases.IS

    def _column(self, at: int) -> int:
        """Note a column that stands for itself."""
        word = self.word(at)
        if word is None or word.column is None:
            return at
        self.bare.append(word)
        return at + 1

    def _settle_bare(self) -> None:
        """Decide what columns that are only named mean."""
        query = self.query
        columns = [word.column for word in self.bare if word.column is not None]
        if not columns:
            return
        if query.measures and not query.keys and self.top is None:
            query.keys = [Key(column) for column in dict.fromkeys(columns) if not column.is_number]
            if len(query.keys) != len(set(columns)):
                raise NotUnderstood(f"It does not see what {', '.join(sorted({c.name for c in columns}))} is for here.")
            return
        numbers = [column for column in columns if column.is_number]
        if query.keys and not query.measures and len(numbers) == len(columns) and self.top is None:
            query.notes.append(f"added up {', '.join(column.name for column in numbers)}")
            query.measures = [Measure("sum", column) for column in dict.fromkeys(numbers)]
            return
        if query.measures or query.keys or query.select:
            fresh = [c.name for c in columns if c not in [*query.select, *(key.column for key in query.keys)]]
            measured = {measure.column.name for measure in query.measures if measure.column is not None}
            if fresh := [name for name in fresh if name not in measured]:
                raise NotUnderstood(f"It does not see what {', '.join(fresh)} is for here.")
            return
        plural = len(columns) == 1 and self.bare[0].plural
        if self._kept_with_bare(columns, plural=plural):
            return
        query.select = list(dict.fromkeys(columns))
        query.distinct = plural

    def _settle_rows(self) -> None:
        """Compute ``one row per month`` where nothing else says how: totals of the numbers, else a count."""
        query = self.query
        if not self.one_row or query.measures:
            return
        keys = {key.column.name for key in query.keys}
        numbers = [
            column
            for table in self.tables
            for column in table.columns
            if column.is_number and not column.is_id and column.name not in keys
        ]
        query.measures = [Measure("sum", column) for column in numbers] or [Measure("count", None)]
        names = ", ".join(column.name for column in numbers)
        query.notes.append(f"added up {names}" if names else "counted the rows")

    def _kept_with_bare(self, columns: Sequence[ColumnSeen], *, plural: bool) -> bool:
        """Settle ``cities sorted``, ``products over 5`` and ``only active``; return whether that is all."""
        query = self.query
        if query.measures or query.keys:
            return False
        if len(columns) == 1 and columns[0].type == "bool" and not query.select:
            query.filters.append([Predicate(columns[0], "=", value=True)])
            return True
        if plural and query.sort and all(sort.column is None and sort.measure is None for sort in query.sort):
            query.sort = [replace(query.sort[0], column=columns[0])]
        if plural and (query.filters or query.sort or query.limit or query.complete or query.join):
            query.notes.append("kept all columns of these rows")
            return True
        return False


def _rows(word: Word) -> int:
    rows = int(word.number or 0)
    if rows < 1:
        raise NotUnderstood("It needs a number of rows that is at least 1.")
    return rows
