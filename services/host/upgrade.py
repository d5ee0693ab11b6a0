"""``assay upgrade``: keep a backup, stop what runs, bring the tables up to date, start this version."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from migrations import steps
from services.host import backup_commands
from services.host.folder import InstallationFolder, stop
from shared import VERSION


@dataclass(frozen=True)
class Upgrade:
    """A requested upgrade; ``start`` starts the installation and returns its exit status."""

    folder: InstallationFolder
    start: Callable[[], int]
    backup: Path | None = None  #: a file of the installation's own otherwise
    keeps: bool = True  #: whether to make a backup at all

    def __call__(self) -> int:
        """Upgrade, and return the exit status. A failure before the stop changes nothing."""
        try:
            self._check()
        except (steps.Refused, psycopg.Error, RuntimeError) as refusal:
            _say(str(refusal).strip())
            return backup_commands.FAILED
        file = self._file()
        if self.keeps:
            if self.backup is None:
                file.parent.mkdir(mode=0o700, exist_ok=True)
            if backup_commands.back_up(self.folder, file) != backup_commands.DONE:
                _say("Nothing was changed.")
                return backup_commands.FAILED
        began = time.monotonic()
        ran = stop(self.folder)
        status = self.start()
        if status != backup_commands.DONE:
            _say("This version did not start. " + (_way_back(file) if self.keeps else "There is no backup."))
            return status
        away = f", after {time.monotonic() - began:.1f} s without service" if ran else ""
        _say(f"Assay {VERSION} runs{away}.")
        return backup_commands.DONE

    def _check(self) -> None:
        with backup_commands.stores(self.folder, new=False) as (url, _):
            steps.check_step(url, VERSION)

    def _file(self) -> Path:
        at = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S")
        return self.backup or self.folder.path / "backups" / f"before-{VERSION}-{at}.backup"


def _way_back(file: Path) -> str:
    return f"To go back: install the version before, then `assay restore --replace {file}` and `assay up -d`."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201
