"""Python: runs in a fork of the warm interpreter, which has its libraries loaded."""

from __future__ import annotations

import platform
from typing import Any

from services.execution.languages.python.analysis import PYTHON_ANALYSIS
from services.execution.sandbox.language import Codec, Guest, LanguageSpec

_GUEST = "services.execution.languages.python.guest"


class PythonCodec(Codec):
    def column_loss(self, column: Any) -> str | None:
        """Pandas has one missing value for numbers: a gap among floats is a NaN."""
        import pyarrow
        import pyarrow.compute

        if pyarrow.types.is_floating(column.type) and column.null_count:
            nans = pyarrow.compute.sum(pyarrow.compute.is_nan(column)).as_py()
            return "missing numbers and NaN are one in pandas" if nans else None
        return None


PYTHON = LanguageSpec(
    name="python",
    versions=platform.python_version,
    install="Python",
    guest=Guest(packages=(_GUEST,), module=f"{_GUEST}.kernel"),
    codec=PythonCodec(),
    warm=(f"{_GUEST}.libraries", f"{_GUEST}.kernel", f"{_GUEST}.soundness"),
    pooled=None,
    analysis=PYTHON_ANALYSIS,
)
