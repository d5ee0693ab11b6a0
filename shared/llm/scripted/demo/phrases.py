"""The vocabulary of table tasks: which words mean which operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.llm.scripted.demo.query import Func, Operator, Period

AGGREGATES: Mapping[str, Func] = {
    "total": "sum", "totals": "sum", "sum": "sum", "sums": "sum", "overall": "sum",
    "average": "mean", "averages": "mean", "avg": "mean", "mean": "mean", "means": "mean",
    "median": "median", "medians": "median",
    "minimum": "min", "min": "min", "minima": "min", "maximum": "max", "max": "max", "maxima": "max",
    "std": "std", "stdev": "std",
    "count": "count", "counts": "count", "number": "count",
}  # fmt: skip
HIGH = frozenset("highest largest biggest greatest most maximum max best latest newest longest top oldest".split())
LOW = frozenset("lowest smallest least fewest minimum min worst earliest shortest bottom youngest".split())
#: Of these a higher value is the earlier date, so they need a column of dates.
DATE_HIGH = frozenset({"latest", "newest", "last", "youngest"})
DATE_LOW = frozenset({"earliest", "oldest", "first"})
GROUP = frozenset({"by", "per", "each", "every"})
PERIODS: Mapping[str, Period] = {
    "year": "year", "years": "year", "yearly": "year", "annual": "year", "annually": "year",
    "quarter": "quarter", "quarters": "quarter", "quarterly": "quarter",
    "month": "month", "months": "month", "monthly": "month",
    "week": "week", "weeks": "week", "weekly": "week",
    "day": "day", "days": "day", "daily": "day", "date": "day",
    "weekday": "weekday", "weekdays": "weekday",
    "hour": "hour", "hours": "hour", "hourly": "hour",
}  # fmt: skip
MONTHS: Mapping[str, int] = {
    name[:length]: number
    for number, name in enumerate(
        "january february march april may june july august september october november december".split(), 1
    )
    for length in (3, len(name))
} | {"sept": 9}
#: What people call the rows of a table.
ROWS = frozenset(
    (
        "row rows record records entry entries line lines item items order orders sale sales transaction transactions "
        "purchase purchases event events case cases observation observations sample samples payment payments invoice "
        "invoices visit visits booking bookings ticket tickets measurement measurements thing things ones one people "
        "person customer customers user users employee employees player players "
        "member members patient patients game games match matches book books film films "
        "movie movies article articles house houses car cars "
        "student students product products"
    ).split()
)
FILLERS = frozenset(
    (
        "a an the of please me us show give get find list compute calculate calc display print return see tell make "
        "create what is are was were all data dataset table tables result results my our this that these those there "
        "i we want need would like to can could you then now and also so with their its it them they values value "
        "column columns which in for from do does let how much amongst among overall as using use each-of just simply "
        "have has only come output report file csv sheet also finally next afterwards respectively us help be"
    ).split()
)


def _or_equal(words: Iterable[str], operator: Operator) -> dict[tuple[str, ...], Operator]:
    """Return the forms of ``more than or equal to``."""
    equals = (("equal", "to"), ("equal",), ("equals",))
    return {(word, "than", "or", *equal): operator for word in words for equal in equals}


COMPARISONS: Mapping[tuple[str, ...], Operator] = {
    (">=",): ">=", ("<=",): "<=", ("!=",): "!=", ("=",): "=", (">",): ">", ("<",): "<",
    ("at", "least"): ">=", ("no", "less", "than"): ">=", ("not", "less", "than"): ">=", ("not", "below"): ">=",
    ("at", "most"): "<=", ("no", "more", "than"): "<=", ("not", "more", "than"): "<=", ("not", "over"): "<=",
    ("up", "to"): "<=", ("not", "above"): "<=",
    **_or_equal(("greater", "more", "larger", "higher", "bigger"), ">="),
    **_or_equal(("less", "lower", "smaller", "fewer"), "<="),
    **{(word, "than"): ">" for word in ("greater", "more", "larger", "higher", "bigger", "later", "newer", "younger")},
    **{(word, "than"): "<" for word in ("less", "lower", "smaller", "fewer", "earlier", "older")},
    **dict.fromkeys([("above",), ("over",), ("exceeds",), ("exceeding",), ("beyond",), ("after",)], ">"),
    **dict.fromkeys([("below",), ("under",), ("before",)], "<"),
    **dict.fromkeys([("since",), ("from",)], ">="),
    **dict.fromkeys([("until",), ("till",)], "<="),
    **dict.fromkeys([("equals",), ("equal", "to"), ("exactly",), ("equal",)], "="),
    ("different", "from"): "!=", ("other", "than"): "!=",
    **dict.fromkeys([("contains",), ("containing",), ("contain",), ("includes",), ("including",)], "contains"),
    ("like",): "contains",
    **dict.fromkeys([("starts", "with"), ("starting", "with"), ("begins", "with"), ("beginning", "with"),
                     ("start", "with"), ("begin", "with")], "starts"),
    **dict.fromkeys([("ends", "with"), ("ending", "with"), ("end", "with")], "ends"),
    **dict.fromkeys([("missing",), ("empty",), ("null",), ("blank",), ("unknown",), ("nan",)], "missing"),
    **dict.fromkeys([("present",), ("filled",), ("known",)], "present"),
}  # fmt: skip
MAX_COMPARISON = max(map(len, COMPARISONS))
#: Words before a condition.
CONDITION = frozenset(
    (
        "where only whose having filter keep when if rows row records record that which who with and for in from of "
        "at filtered to just those the on out entries have has are is was were been being made placed by-value select "
        "show find list get lines orders order items sales transactions customers customer products product"
    ).split()
)
NOT = frozenset("not no except without excluding exclude isn't aren't wasn't doesn't don't isnt n't but non".split())
IS = frozenset("is are was were has have does do did = equals equal of : be being".split())
ASCENDING = frozenset(["ascending", "asc", "increasing", "alphabetical", "alphabetically", "upwards"])
DESCENDING = frozenset(["descending", "desc", "decreasing", "downwards", "reverse", "reversed"])
FIRST_LOW = frozenset("lowest smallest least oldest earliest cheapest fewest low".split())
FIRST_HIGH = frozenset("highest largest biggest greatest most newest latest high dearest priciest".split())
TEXT_CHANGES: Mapping[tuple[str, ...], str] = {
    ("upper", "case"): "upper", ("uppercase",): "upper", ("upper",): "upper", ("capitals",): "upper",
    ("lower", "case"): "lower", ("lowercase",): "lower", ("lower",): "lower",
    ("title", "case"): "title", ("capitalized",): "title",
}  # fmt: skip
ARITHMETIC: Mapping[tuple[str, ...], str] = {
    ("+",): "+", ("plus",): "+", ("-",): "-", ("minus",): "-", ("*",): "*", ("times",): "*",
    ("multiplied", "by"): "*", ("/",): "/", ("divided", "by"): "/", ("over",): "/",
}  # fmt: skip
