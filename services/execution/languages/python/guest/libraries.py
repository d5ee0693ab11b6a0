"""What the warm parent loads and does before the first fork, so that no child has to."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import random
import sys
from typing import Any

#: In this order. Otherwise PIL's writers and pandas' bridge to Arrow load late, in every child again.
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


def load() -> None:
    """Import what is installed, and use it once."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # First uses fill caches. Never of polars: it waits for threads that no child has, once it has been used.
    for name, use in (("pandas", use_pandas), ("matplotlib.pyplot", _draw)):
        with contextlib.suppress(Exception):
            use(importlib.import_module(name))


def use_pandas(pandas: Any) -> Any:
    """Do what programs often do first; in the parent to fill caches, and in its forks to own the pages."""
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


#: Methods of polars that return rows in any order unless told to keep it.
_KEEPING = (
    ("DataFrame", "group_by"),
    ("LazyFrame", "group_by"),
    ("DataFrame", "unique"),
    ("LazyFrame", "unique"),
    ("Series", "unique"),
    ("Expr", "unique"),
)


def seed_all(seed: int | None) -> None:
    """Seed all generators: a given seed makes the run repeatable; without one, forks of the warm parent must differ."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    polars = sys.modules.get("polars")
    if polars is not None and seed is not None:
        with contextlib.suppress(Exception):  # another version of polars: then it is as random as it likes
            polars.set_random_seed(seed)
            for owner, name in _KEEPING:
                _keep_order(getattr(getattr(polars, owner), name))


def _keep_order(method: Any) -> None:
    defaults = inspect.unwrap(method).__kwdefaults__
    if defaults and defaults.get("maintain_order") is False:
        defaults["maintain_order"] = True
