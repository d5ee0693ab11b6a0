"""Parts of a page next to each other, as Quarto's ``layout-ncol``, ``layout-nrow`` and ``layout`` say."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_COLUMNS = 6
_ROW = re.compile(r"\[([^\[\]]*)\]")
_NUMBER = re.compile(r"(?<![-\d.])\d+(?:\.\d+)?%?")  #: a negative one is a gap


def columns_of(options: Mapping[str, str]) -> int:
    """Return in how many columns parts are; 0 where they are below each other."""
    if options.get("layout-nrow") == "1":
        return 1
    if count := options.get("layout-ncol", ""):
        columns = int(count) if count.isdigit() else 0
    else:
        columns = max((len(_NUMBER.findall(row)) for row in _ROW.findall(options.get("layout", ""))), default=0)
    return min(columns, MAX_COLUMNS) if columns > 1 else 0
