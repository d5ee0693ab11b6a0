"""A case as its job gets it."""

from __future__ import annotations

from typing import Any

from shared.contracts.evaluations import Case


def as_run(case: Case) -> Case:
    """A flow is not changed by its evaluation; what has to be compared is asked for."""
    more: dict[str, Any] = {}
    if case.kind == "flow":
        more["mode"] = "propose"
    if case.kind == "transform" and case.expect.assertions:
        more["observe"] = case.expect.assertions
    if case.kind == "transform" and case.expect.table is not None:
        more["result_rows"] = 1000
    return case.model_copy(update={"input": {**case.input, **more}})
