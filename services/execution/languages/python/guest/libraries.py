"""What the warm parent loads and does before the first fork, so that no child has to."""

from __future__ import annotations

import contextlib
import importlib
import io
from typing import Any

#: In this order. PIL's writers and pandas' bridge to Arrow load late otherwise, in every child anew.
LIBRARIES = (
    "numpy",
    "pandas",
    "pyarrow",
    "pyarrow.ipc",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyarrow.pandas_compat",
    "duckdb",
    "polars",
    "matplotlib",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "PIL.PngImagePlugin",
)


def load() -> list[str]:
    """Import what is installed, and use it once; the names of what was loaded."""
    loaded: list[str] = []
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
            loaded.append(name)
    _warm_up(loaded)
    return loaded


def _warm_up(loaded: list[str]) -> None:
    """First uses fill caches. Never of polars: it waits for threads that no child has, once it has been used."""
    if "pandas" in loaded:
        with contextlib.suppress(Exception):
            use_pandas(importlib.import_module("pandas"))
    if "matplotlib.pyplot" in loaded:
        with contextlib.suppress(Exception):
            _draw(importlib.import_module("matplotlib.pyplot"))


def use_pandas(pandas: Any) -> Any:
    """What programs often do first; done in the parent to fill caches, and in its forks to own the pages."""
    frame = pandas.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3], "f": [0.5, None, 1.5]})
    repr(frame.groupby("k").v.sum())
    repr(frame.merge(frame, on="k").sort_values("v_x").describe())
    frame.to_csv(index=False)
    pandas.read_csv(io.StringIO("a,b\n1,x\n"))
    return frame


def _draw(pyplot: Any) -> None:
    pyplot.plot([1, 2], label="line")
    pyplot.legend()
    pyplot.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    pyplot.close("all")
    # It forgets its open fonts in every fork; once, here, is enough.
    importlib.import_module("matplotlib.font_manager")._get_font.cache_clear()
