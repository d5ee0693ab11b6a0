"""What the warm parent loads and does before the first fork, so that no child has to."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from services.execution.languages.python.guest.containers import library_containers

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
    with contextlib.suppress(Exception):
        _add_fonts(sys.modules["matplotlib"], importlib.import_module("matplotlib.font_manager"))
    for name, use in (("pandas", use_pandas), ("matplotlib.pyplot", _draw)):
        with contextlib.suppress(Exception):
            use(importlib.import_module(name))
    library_containers(())


_FONTS = "noto_cjk_sans_otc"  #: a package that holds one font for Chinese, Japanese and Korean
#: Names by which code names such a font; where there is none of that name, this one takes its place.
_CJK_NAMES = (
    "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans JP", "Noto Sans SC", "Noto Sans KR",
    "IPAexGothic", "IPAGothic", "MS Gothic", "Meiryo", "Yu Gothic", "Hiragino Sans", "SimHei", "SimSun",
    "Microsoft YaHei", "PingFang SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Malgun Gothic", "NanumGothic",
    "AppleGothic", "Arial Unicode MS",
)  # fmt: skip


def _add_fonts(matplotlib: Any, font_manager: Any) -> None:
    """Let plots fall back to a font for Chinese, Japanese and Korean, where its package is installed."""
    package = importlib.util.find_spec(_FONTS)
    files = [] if package is None or package.origin is None else sorted(Path(package.origin).parent.glob("*.ttc"))
    if not files:
        return
    manager = font_manager.fontManager
    manager.addfont(str(files[0]))
    font = manager.ttflist[-1]
    known = {each.name for each in manager.ttflist}
    manager.ttflist += [replace(font, name=name) for name in _CJK_NAMES if name not in known]
    for options in (matplotlib.rcParams, matplotlib.rcParamsDefault, matplotlib.rcParamsOrig):
        options["font.family"] = [*options["font.family"], font.name]


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


#: Methods of polars that return rows in any order unless set to keep it.
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
