"""``python -m migrations``: migrate the database of ``DATABASE_URL``.

It connects as the owner of the tables. ``ASSAY_DATABASE_PASSWORD_GATEWAY`` and its siblings let each service's role log
in: ``assay_gateway``. It refuses to skip a minor version, because the previous version runs meanwhile.
``--wait`` waits until another process has done it.
"""

from __future__ import annotations

import os
import sys

from migrations.roles import passwords_of
from migrations.steps import Refused, await_migrated, check_step, remember
from migrations.upgrade import upgrade
from shared import VERSION
from shared.settings import DatabaseSettings, run

_WAIT_SECONDS = 300.0


def main() -> None:
    url = DatabaseSettings().database_url
    if "--wait" in sys.argv[1:]:
        if not await_migrated(url, _WAIT_SECONDS):
            sys.exit(f"The tables were not of Assay {VERSION} within {_WAIT_SECONDS:.0f} s: has the job migrate run?")
        return
    try:
        check_step(url, VERSION)
    except Refused as refusal:
        sys.exit(str(refusal))
    upgrade(url, passwords=passwords_of(os.environ))
    remember(url, VERSION)


if __name__ == "__main__":
    run(main)
