"""Two evaluations compared case by case: what got better, what got worse, and whether the second is worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.commands import show
from assay.commands.session import UsageError

View = Mapping[str, Any]


@dataclass(frozen=True)
class CaseChange:
    """The successes of one case and variant, in both evaluations."""

    case: str
    before: str  #: name of the variant in the first
    after: str
    first: tuple[int, int]  #: successes and runs
    second: tuple[int, int]

    @property
    def difference(self) -> float:
        """Return the change of the share of runs that succeed."""
        return _share(self.second) - _share(self.first)

    @property
    def change(self) -> str:
        return "better" if self.difference > 0 else "worse" if self.difference < 0 else "same"


@dataclass(frozen=True)
class Comparison:
    """The cases that both evaluations ran, with how their results changed, and those that one of them ran."""

    changes: list[CaseChange]
    missing: list[str]  #: cases of the first that the second did not run
    new: list[str]

    @property
    def worse(self) -> list[str]:
        """Name each pair of variants of which fewer runs succeed, over the cases that both have."""
        sums: dict[tuple[str, str], float] = {}
        for each in self.changes:
            pair = (each.before, each.after)
            sums[pair] = sums.get(pair, 0.0) + each.difference
        return [_pair(*pair) for pair, difference in sums.items() if difference < -1e-9]

    def as_json(self) -> dict[str, Any]:
        cases = [{**asdict(each), "change": each.change} for each in self.changes]
        return {"cases": cases, "missing": self.missing, "new": self.new, "worse": self.worse}

    def as_text(self) -> str:
        rows = [
            [each.case, _pair(each.before, each.after), _counts(each.first), _counts(each.second), each.change]
            for each in sorted(self.changes, key=lambda each: each.difference)
        ]
        counts = [sum(each.change == word for each in self.changes) for word in ("better", "worse", "same")]
        lines = [show.table(["case", "variant", "before", "after", "change"], rows)]
        lines.append(f"{counts[0]} better, {counts[1]} worse, {counts[2]} the same")
        lines += [f"only in the first: {', '.join(self.missing)}"] if self.missing else []
        lines += [f"only in the second: {', '.join(self.new)}"] if self.new else []
        return "\n".join(lines)


def compare(first: View, second: View) -> Comparison:
    """Compare the cells of two evaluations.

    Variants are paired by name; an evaluation of one variant is compared with the other's only one. Raises: UsageError
    when no case was run by both.
    """
    pairs = _variants(first, second)
    before, after = _cells(first), _cells(second)
    changes = [
        CaseChange(case, old, new, before[case, old], after[case, new])
        for old, new in pairs
        for case in dict.fromkeys(case for case, _ in before)
        if (case, old) in before and (case, new) in after
    ]
    if not changes:
        raise UsageError(
            f"{first['id']} and {second['id']} have no case and variant of the same names that both have run; "
            "`assay eval show` lists them"
        )
    known = [list(dict.fromkeys(case for case, _ in cells)) for cells in (before, after)]
    return Comparison(
        changes,
        missing=[case for case in known[0] if case not in known[1]],
        new=[case for case in known[1] if case not in known[0]],
    )


def _variants(first: View, second: View) -> list[tuple[str, str]]:
    before, after = ([str(each["name"]) for each in view["variants"]] for view in (first, second))
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    return [(name, name) for name in before if name in after]


def _cells(view: View) -> dict[tuple[str, str], tuple[int, int]]:
    """Return successes and runs by case and variant, of those that ran."""
    return {
        (each["case"], each["variant"]): (each["successes"], each["runs"]) for each in view["cells"] if each["runs"]
    }


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _share(ran: tuple[int, int]) -> float:
    return ran[0] / ran[1]


def _counts(ran: tuple[int, int]) -> str:
    return f"{ran[0]}/{ran[1]}"
