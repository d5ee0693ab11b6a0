"""One supervisor holds an installation, and a query of who it is does not get in its way."""

from __future__ import annotations

import fcntl
import os
import stat
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


def test_the_folder_is_closed_to_others_whatever_it_was_before(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "gateway-1.log").write_text("")
    folder = InstallationFolder(home)
    folder.make()
    folder.keep_api_key("ask_x")
    secret = folder.secret("postgres")
    assert secret == InstallationFolder(home).secret("postgres") != folder.secret("gateway")
    lock = folder.lock()
    assert lock is not None
    lock.close()
    for path in (home, *home.rglob("*")):
        open_to = 0o711 if path == home and os.geteuid() == 0 else 0o700  # root's servers, other users, pass through
        assert stat.S_IMODE(path.stat().st_mode) & ~open_to == 0, path
