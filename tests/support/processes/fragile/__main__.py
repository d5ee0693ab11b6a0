"""A process that dies in its first three runs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
runs = Path(os.environ["ASSAY_READY_FILE"]).with_name("fragile.runs")
with runs.open("a") as file:
    file.write("x")
if len(runs.read_text()) <= 3:
    sys.exit(1)
Path(os.environ["ASSAY_READY_FILE"]).touch()
signal.sigwait([signal.SIGTERM])
