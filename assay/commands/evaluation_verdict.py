"""The report of an evaluation for programs, and whether the evaluation passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.commands.evaluation_table import failures, p_value

_REPORTED = ("id", "state", "variants", "cells", "totals", "comparisons")
_CELL = (
    "case", "variant", "runs", "successes", "interval", "turns", "tokens", "cost_usd", "seconds", "failures", "jobs",
)  # fmt: skip
_TOTAL, _COMPARISON = ("variant", "runs", "successes", "interval"), ("a", "b", "difference", "p")


def reported(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``--json`` prints: these keys and no others."""
    whole = {name: view[name] for name in _REPORTED}
    for part, names in (("cells", _CELL), ("totals", _TOTAL), ("comparisons", _COMPARISON)):
        whole[part] = [{name: each[name] for name in names} for each in view[part]]
    whole["variants"] = [{name: each[name] for name in ("name", "model", "prompt")} for each in view["variants"]]
    return whole


def unmet(view: Mapping[str, Any], require: float | None, baseline: str | None, alpha: float | None) -> list[str]:
    """Return the reasons why the evaluation does not pass."""
    reasons = []
    if view["state"] in ("cancelled", "budget_spent"):
        reasons.append(f"the evaluation is {view['state']}: assay eval resume {view['id']}")
    for total in view["totals"] if require is not None else ():
        share = total["successes"] / total["runs"] if total["runs"] else 0.0
        if share < (require or 0.0):
            reasons.append(f"{total['variant']}: {share:.3f} of the runs succeeded, {require:g} required")
    if baseline is not None:
        reasons += _worse(view, baseline, alpha)
    return reasons


def failed_runs(view: Mapping[str, Any]) -> list[str]:
    """Return the failed runs and their causes by variant, with the options that set a requirement."""
    failed = [
        f"{total['variant']}: {total['runs'] - total['successes']} of {total['runs']} runs failed ({failures(total)})"
        for total in view["totals"]
        if total["successes"] < total["runs"]
    ]
    seen = f"assay eval runs {view['id']} shows each; --require SHARE says which share of the runs has to succeed"
    return [*failed, seen] if failed else []


def _worse(view: Mapping[str, Any], baseline: str, alpha: float | None) -> list[str]:
    compared = [each for each in view["baseline"] if each["cases"]]
    if not compared:
        return [f"{baseline} has no variant and case of the same name to compare with"]
    return [
        f"{each['a']}: worse than the baseline by {-each['difference']:.3f} (p {p_value(each['p'])})"
        for each in compared
        if each["difference"] < 0 and (alpha is None or each["p"] < alpha)
    ]
