"""Rules of a transform's input that are checked before it becomes a job."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shared.contracts.transform import TransformInput


def body(language: str) -> dict[str, Any]:
    data = [{"name": "sales", "csv": "a\n1\n"}, {"name": "Sales", "csv": "a\n2\n"}]
    return {"task": "count the rows", "language": language, "data": data}


def test_names_that_sql_does_not_distinguish_are_refused() -> None:
    with pytest.raises(ValidationError, match="DuckDB SQL does not distinguish sales, Sales: give the data sets other"):
        TransformInput.model_validate(body("sql"))
    assert len(TransformInput.model_validate(body("python")).data) == 2
