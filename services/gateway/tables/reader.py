"""``python -m services.gateway.tables.reader QUESTION FILE MEGABYTES``: rows of a table, or what it holds, as JSON."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import orjson

from services.gateway.tables.__main__ import REFUSED
from services.gateway.tables.forms import CannotHold

_CPU_SECONDS = 60


def main() -> int:
    question, file, megabytes = sys.argv[1:]
    most = int(megabytes) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = _answer(orjson.loads(question), Path(file))
    except CannotHold as error:
        sys.stderr.write(str(error))
        return REFUSED
    sys.stdout.buffer.write(orjson.dumps(answer, default=str, option=orjson.OPT_NON_STR_KEYS))
    return 0


def _answer(question: dict[str, Any], file: Path) -> dict[str, Any]:
    from services.gateway.tables.opened import connect, open_table  # noqa: PLC0415 - after the limits
    from services.gateway.tables.profile import profile  # noqa: PLC0415
    from services.gateway.tables.rows import rows  # noqa: PLC0415

    with connect() as database:
        types = open_table(database, file)
        return profile(database, types) if question["ask"] == "profile" else rows(database, types, question)


if __name__ == "__main__":
    sys.exit(main())
