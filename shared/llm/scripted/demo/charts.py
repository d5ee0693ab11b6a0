"""A request for a chart: which kind of chart, of which table, and the code that draws it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.llm.scripted.demo.query import NotUnderstood, Query

_NOUN = r"(?:(?P<{0}>bar|column|line|area)[ -]?)?(?:chart|plot|graph|diagram|figure)"
_BEFORE = re.compile(
    r"^(?:please )?(?:(?:draw|plot|make|show|create|give|chart|graph|visuali[sz]e)(?: me)? )?"
    rf"(?:(?:a|an|the) )?(?:{_NOUN.format('before')} )?(?:(?:of|for|with|showing|that shows) )?(?:the )?",
    re.IGNORECASE,
)
_AFTER = re.compile(rf",? (?:as|in|on) (?:a |an )?{_NOUN.format('after')}\.?$", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:chart|plot|graph|histogram|figure|visuali[sz]e)\b", re.IGNORECASE)
_NEEDS_GROUPS = 'It draws one bar or point for each group, so name the groups, as in "bar chart of total X by Y".'
#: Of a table, when the task wants a chart.
OUTPUT_IS_TABLE = (
    "This job's output is a table, and the task asks for a chart: set `output` to `plot` "
    "(`--output plot`, or `-o chart.png`)."
)


@dataclass(frozen=True)
class ChartTask:
    """What to draw, and the task of the table behind it."""

    table: str
    kind: str  #: bar, line or area; empty when the task does not say


def asks_for_chart(task: str) -> bool:
    return _ASKS.search(task) is not None


def read_chart(task: str) -> ChartTask:
    """Split a task into the chart and its table."""
    before = _BEFORE.match(task)
    rest = task[before.end() :] if before else task
    after = _AFTER.search(rest)
    said = (before and before["before"]) or (after and after["after"]) or ""
    kind = {"column": "bar"}.get(said.lower(), said.lower())
    return ChartTask(rest[: after.start()] if after else rest, kind)


def drawn(code: str, query: Query, kind: str) -> str:
    """Return the code of a table, continued so that it draws it. Raises: NotUnderstood without groups to draw."""
    if not query.keys:
        raise NotUnderstood(_NEEDS_GROUPS)
    chosen = kind or ("line" if any(key.period for key in query.keys) else "bar")
    lines = [
        f"chart = result.set_index(list(result.columns[:{len(query.keys)}])).select_dtypes('number').plot.{chosen}()",
        "chart.figure.tight_layout()",
        "result = chart.figure",
    ]
    return "\n".join([code, *lines])
