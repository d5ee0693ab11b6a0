"""Runs a supervisor over a table of small processes; the tests start it as a process of its own.

python -m tests.services.host.supervise TABLE
"""

from __future__ import annotations

import os
import sys

from services.host.installation import HostSettings, ServerSettings, compose
from services.host.processes import Process
from services.host.supervisor import AlreadyRunning, Supervisor

_PACKAGE = "tests.support.processes"
TABLES = {
    "steady": [
        Process("steady", models="keys", memory_mb=64, cpus=0.1, package=_PACKAGE, replicas=2),
    ],
    "gateway": [Process("gateway", models="none", memory_mb=512, cpus=1)],
    "fragile": [Process("fragile", models="none", memory_mb=64, cpus=0.1, package=_PACKAGE)],
}


def main() -> None:
    installation = compose(os.environ, HostSettings(), ServerSettings(), processes=TABLES[sys.argv[1]])
    try:
        Supervisor(installation, on_ready=lambda status: print(status.url, flush=True)).run()  # noqa: T201
    except RuntimeError as error:
        sys.exit(str(error))
    except AlreadyRunning:
        sys.exit("already running")


if __name__ == "__main__":
    main()
