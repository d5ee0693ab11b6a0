"""Tables that leave a room are opened in a second room first: a bad file breaks there, not here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from services.execution.sandbox.run import Outcome, Run
from shared.contracts.execute import Limits, Verdict

MOST_ROWS = 50_000_000
MOST_COLUMNS = 10_000

_CHECK = f"""
import pyarrow, pyarrow.ipc
with pyarrow.memory_map("table.arrow") as source:
    table = pyarrow.ipc.open_file(source).read_all()
    table.validate(full=True)
    assert table.num_rows <= {MOST_ROWS} and table.num_columns <= {MOST_COLUMNS}
"""


def holds_together(run: Callable[[Run], AbstractContextManager[Outcome]], table: Path) -> bool:
    """Whether a whole Arrow IPC file stands there, within the caps."""
    limits = Limits(memory_mb=2048, wall_seconds=60, cpu_seconds=60)
    with run(Run("python", _CHECK, files={"table.arrow": table}, limits=limits, collect=False)) as outcome:
        return outcome.verdict is Verdict.OK
