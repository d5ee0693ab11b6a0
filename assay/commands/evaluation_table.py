"""An evaluation for a person: which variant succeeds how often, what it takes, whether the difference counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.commands import show

View = Mapping[str, Any]


def as_text(view: View) -> str:
    """Return the tables of an evaluation."""
    parts = [_totals(view)]
    if len(view["cases"]) > 1 or len(view["variants"]) > 1:
        parts.append(_cells(view))
    if view["comparisons"]:
        parts.append(_comparisons(view["comparisons"]))
    if view.get("baseline"):
        parts.append("against the baseline:\n" + _comparisons(view["baseline"]))
    if view["unstable"]:
        parts.append("unstable: " + ", ".join(view["unstable"]))
    return "\n\n".join(parts)


def share(part: View) -> str:
    """``17/20 0.85 [0.64, 0.95]``"""
    if not part["runs"]:
        return "-"
    low, high = part["interval"]
    return f"{part['successes']}/{part['runs']} {part['successes'] / part['runs']:.2f} [{low:.2f}, {high:.2f}]"


def failures(part: View) -> str:
    return ", ".join(f"{cause} {count}" for cause, count in part["failures"].items()) or "-"


def number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _totals(view: View) -> str:
    rows = [
        [
            total["variant"], share(total), number(total["turns"]), total["tokens"], number(total["cost_usd"], 4),
            number(total["seconds"], 2), failures(total),
        ]
        for total in view["totals"]
    ]  # fmt: skip
    return show.table(["variant", "success [95 %]", "turns", "tokens", "cost $", "seconds", "failures"], rows)


def _cells(view: View) -> str:
    names = [variant["name"] for variant in view["variants"]]
    by_case: dict[str, dict[str, View]] = {}
    for cell in view["cells"]:
        by_case.setdefault(cell["case"], {})[cell["variant"]] = cell
    rows = [[case, *(_short(cells[name]) for name in names)] for case, cells in by_case.items()]
    return show.table(["case", *names], rows)


def _short(cell: View) -> str:
    why = f" {failures(cell)}" if cell["failures"] else ""
    return f"{cell['successes']}/{cell['runs']}{why}" if cell["runs"] or why else "-"


def _comparisons(comparisons: list[View]) -> str:
    rows = [
        [each["a"], each["b"], f"{each['difference']:+.2f}", _interval(each), p_value(each["p"])]
        for each in comparisons
    ]
    return show.table(["a", "b", "a - b", "[95 %]", "p"], rows)


def _interval(comparison: View) -> str:
    if comparison.get("interval") is None:
        return "-"
    low, high = comparison["interval"]
    return f"[{low:+.2f}, {high:+.2f}]"
