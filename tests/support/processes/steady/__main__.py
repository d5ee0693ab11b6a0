"""A process that says it is ready, keeps its environment for the test to read, and ends on a signal."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
run, name = Path(os.environ["ASSAY_READY_FILE"]).parent, os.environ["ASSAY_SERVICE_NAME"]
(run / f"{name}.env.json").write_text(json.dumps(dict(os.environ)))
Path(os.environ["ASSAY_READY_FILE"]).touch()
signal.sigwait([signal.SIGTERM])
(run / f"{name}.ended").touch()
