"""What a seed makes repeatable: random numbers, and the orders that polars otherwise leaves to chance."""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
from typing import Any

#: Methods of polars whose rows come in any order unless they are asked to keep it.
_KEEPING = (
    ("DataFrame", "group_by"),
    ("LazyFrame", "group_by"),
    ("DataFrame", "unique"),
    ("LazyFrame", "unique"),
    ("Series", "unique"),
    ("Expr", "unique"),
)


def seed_all(seed: int | None) -> None:
    """A given seed makes the run repeatable; without one no two forks of the warm parent may draw alike."""
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
