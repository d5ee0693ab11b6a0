"""One supervisor holds an installation, and asking who it is does not get in its way."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from threading import Timer

from services.host.folder import InstallationFolder


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    folder = InstallationFolder(tmp_path)
    assert folder.holder() is None
    lock = folder.lock()
    assert lock is not None
    with lock:
        assert folder.lock() is None
        assert folder.holder() == os.getpid()
    assert folder.holder() is None


def test_a_question_for_the_holder_does_not_refuse_a_start(tmp_path: Path) -> None:
    folder = InstallationFolder(tmp_path)
    with (tmp_path / "lock").open("a+") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        Timer(0.05, fcntl.flock, (asking, fcntl.LOCK_UN)).start()
        lock = folder.lock()
    assert lock is not None
    lock.close()
