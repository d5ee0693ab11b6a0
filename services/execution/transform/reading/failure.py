"""Why a data file cannot be read, in plain words."""

from __future__ import annotations

#: What one data set may hold; beyond it the answer is a clear error, never a slow death.
MOST_COLUMNS = 2_000
MOST_ROWS = 20_000_000
MOST_CELLS = 200_000_000
MOST_UNPACKED_BYTES = 2_000_000_000
MOST_JSON_BYTES = 200_000_000
MOST_TABLE_BYTES = 300_000_000  #: in memory, and on the way out of the sandbox


class Unreadable(Exception):
    """The file is not what it should be; the text says what is wrong and where."""
