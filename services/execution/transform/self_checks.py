"""Self-checked answers: a model's statements about its result, verified together with our checks, end the work at once.

A check that holds of a spoiled result as well proves nothing, so each is tried on ten of them. No form says which value
belongs to which row, so of several rows statements prove nothing: a sum may be next to the wrong group.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import polars as pl

from services.execution.transform.checks import holds_of
from services.execution.transform.replies import fenced_blocks
from services.execution.transform.results import CodeRun
from shared.contracts.transform import Check, UnverifiedReason
from shared.declarations.assertions import (
    Assertion,
    EachRow,
    References,
    RowsAgainstInput,
    SumAgainstInput,
    SumUnchanged,
    parse_assertion,
)
from shared.declarations.scan import AssertionSyntax

_TAGS = frozenset({"checks", "check"})
_MAX_CHECKS, _MAX_CHARACTERS = 20, 500
#: Of the result and of the input: beyond this, ten spoiled results cost more than a model call.
_MAX_CELLS = 2_000_000
#: What the checks together have to notice, where a result can be spoilt so: lost rows, repeated rows, other numbers.
_MUST_BE_NOTICED = ("the first half", "all but the last row", "every row twice", "the last row twice", "other numbers")
#: Of a result without numbers, at least one of these.
_ANY_VALUES = ("other numbers", "in reverse", "a column moved down")
_OTHER_ROWS = "values in the wrong rows"
_EMPTY = "The checks that the model stated hold of wrong results as well: they say nothing about this one."


@dataclass(frozen=True)
class Judgement:
    """The outcome of the checks."""

    checks: list[Check]
    proven: bool  #: what the model stated, or computed a second time, would notice a wrong result
    plain: bool  #: no sign speaks of code that ran and did something else
    failing: tuple[str, ...] = ()  #: of the model's, those that can be read and do not hold
    different: str = ""  #: how a second computation of the model differs from the result
    empty: bool = False  #: the model stated checks, and all that they notice is a result without rows
    unproven: str = ""  #: why a second computation of the model says nothing
    missed: tuple[str, ...] = ()  #: wrong results that no check of the model notices, where they all hold

    @property
    def sufficient(self) -> bool:
        """Whether the model need not confirm the result."""
        return self.proven and self.plain

    @property
    def reasons(self) -> list[UnverifiedReason]:
        """What the checks say against the result."""
        reasons = [
            UnverifiedReason(code="own_check_failed", message=f"The model stated a check that does not hold: {text}")
            for text in self.failing
        ]
        if self.different:
            reasons.append(UnverifiedReason(code="own_check_failed", message=self.different))
        if self.empty:
            reasons.append(UnverifiedReason(code="own_checks_empty", message=_EMPTY))
        return reasons


def stated_in(reply: str) -> list[str]:
    """Return the lines of the blocks that are tagged as checks."""
    blocks = [block.text for block in fenced_blocks(reply) if block.tag in _TAGS]
    lines = (line.strip().removeprefix("- ").strip() for block in blocks for line in block.split("\n"))
    return [line[: _MAX_CHARACTERS + 1] for line in lines if line][: _MAX_CHECKS + 1]


def judge(
    stated: Sequence[str],
    run: CodeRun,
    inputs: Sequence[pl.DataFrame],
    named: Mapping[str, pl.DataFrame] = MappingProxyType({}),
) -> Judgement:
    """Verify the model's statements about a run's result, and what holds of every plain result."""
    if run.table is None or not run.table.frame.width:
        return Judgement([], proven=False, plain=False)
    after, before = run.table.frame, inputs[0]
    parsed = {text: _parsed(text) for text in stated[:_MAX_CHECKS]}
    held = {text: one is not None and holds_of(one, before, after, named)[0] for text, one in parsed.items()}
    own = _own_checks(run, inputs, after)
    small = max(frame.height * frame.width for frame in (*inputs, after)) <= _MAX_CELLS
    holding = small and len(stated) <= _MAX_CHECKS and all(held.values())
    spoilt = dict(spoilt_results(after)) if holding else {}
    checks = [_tried(text, parsed[text], holds, before, spoilt) for text, holds in held.items()]
    missed = _missed(checks, spoilt)
    if holding:
        missed += tuple(_open_values(after, [one for one in parsed.values() if one is not None], before, named))
    proven = holding and bool(stated) and all(check.noticed for check in checks) and not missed
    failing = [text for text, one in parsed.items() if one is not None and not held[text]]
    failing = [text for text in failing if _can_be_checked(parsed[text], before, named)]
    without_rows = {name for name, frame in spoilt.items() if not frame.height}
    empty = bool(spoilt) and bool(stated) and all(without_rows.issuperset(check.noticed) for check in checks)
    checks += [Check(text=text, held=holds, from_="assay") for text, holds in own.items()]
    return Judgement(checks, proven, all(own.values()), tuple(failing), empty=empty, missed=missed)


def _can_be_checked(check: Assertion | None, before: pl.DataFrame, named: Mapping[str, pl.DataFrame]) -> bool:
    """Return whether the data have what the check names; a model may mean another data set than the first."""
    match check:
        case RowsAgainstInput():
            names = [*check.distinct, *(each.name for each in check.conditions)]
        case SumUnchanged(name):
            names = [name]
        case SumAgainstInput(name, other, conditions):
            names = [each.name for each in conditions] if conditions else [other or name] if other else []
        case References(_, data, column):
            return data in named and column in named[data].columns
        case _:
            return True
    return all(name in before.columns for name in names)


def _tried(
    text: str, parsed: Assertion | None, held: bool, before: pl.DataFrame, spoilt: Mapping[str, pl.DataFrame]
) -> Check:
    """Return the model's check with its result on each spoiled table."""
    fails = {} if parsed is None else {name: not holds_of(parsed, before, frame)[0] for name, frame in spoilt.items()}
    noticed = [name for name, failed in fails.items() if failed]
    missed = [name for name, failed in fails.items() if not failed]
    return Check(text=text, held=held, from_="model", noticed=noticed, missed=missed)


def _parsed(text: str) -> Assertion | None:
    try:
        return parse_assertion(text) if len(text) <= _MAX_CHARACTERS else None
    except AssertionSyntax:
        return None


def _own_checks(run: CodeRun, inputs: Sequence[pl.DataFrame], after: pl.DataFrame) -> Mapping[str, bool]:
    """Signs of code that ran and did something else: nothing found, a join that matched nothing or too much."""
    missing = run.effect.nulls if run.effect is not None else {}
    emptied = [counts for counts in missing.values() if isinstance(counts, list) and counts[0] == 0]
    return {
        "the result differs from the input": run.outcome == "result",
        "the result has rows": after.height > 0,
        "every column has a value": all(column.null_count() < after.height for column in after.iter_columns()),
        "no value is missing where none was": not emptied,
        "a join gives no more rows than its largest input": len(inputs) == 1
        or after.height <= max(frame.height for frame in inputs),
    }


def _missed(checks: Sequence[Check], spoilt: Container[str]) -> tuple[str, ...]:
    """Return the wrong results that the checks together have to notice, and do not."""
    noticed = {name for check in checks for name in check.noticed}
    missed = [name for name in _MUST_BE_NOTICED if name in spoilt and name not in noticed]
    if not noticed.intersection(_ANY_VALUES):
        missed += [name for name in _ANY_VALUES if name not in missed]
    return tuple(missed)


def _open_values(
    after: pl.DataFrame, checks: Sequence[Assertion], before: pl.DataFrame, named: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """Yield what the checks leave open of the result's values: of several rows, which value belongs to which."""
    if after.height > 1:
        yield _OTHER_ROWS
        return
    for column in after.iter_columns():
        about = [check for check in checks if column.name in _columns_valued(check)]
        nearly = after.with_columns(_nearly(column)) if about and column.dtype.is_numeric() else after
        if all(holds_of(check, before, nearly, named)[0] for check in about):
            yield f"another value of {column.name}"


def _nearly(column: pl.Series) -> pl.Series:
    """Return other numbers that are close, as a check that allows for more proves none of them."""
    return column + 1 if column.dtype.is_integer() else column * 1.001 + 0.001


def _columns_valued(check: Assertion) -> Sequence[str]:
    """Return the columns of the result whose values the check speaks of."""
    match check:
        case SumUnchanged(name) | SumAgainstInput(name):
            return [name]
        case EachRow(conditions):
            return [each.name for each in conditions]
        case _:
            return []


def spoilt_results(frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield up to ten wrong results, each with its fault; those equal to the result are left out."""
    last = frame.columns[-1]
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    rows = pl.int_range(pl.len())
    spoilt = {
        "no rows": frame.clear(),
        "the first half": frame.head(frame.height // 2),
        "all but the last row": frame.head(max(frame.height - 1, 0)),
        "every row twice": pl.concat([frame, frame]),
        "the last row twice": pl.concat([frame, frame.tail(1)]),
        "in reverse": frame.reverse(),
        "a column moved down": frame.with_columns(pl.col(last).gather((rows - 1) % pl.len())),
        "other numbers": frame.with_columns(pl.col(numbers) * 2 + 1),
        "the first row without values": frame.with_columns(pl.when(rows > 0).then(pl.all())),
        "without the last column": frame.drop(last),
    }
    for name, wrong in spoilt.items():
        if not wrong.equals(frame):
            yield name, wrong
