"""Logs are put aside before they fill the disk, and their writers notice nothing."""

from __future__ import annotations

from pathlib import Path

from services.host.rotation import KEPT, rotate


def test_a_log_that_is_too_large_is_put_aside_and_goes_on(tmp_path: Path) -> None:
    log, small = tmp_path / "a.log", tmp_path / "b.log"
    small.write_text("short\n")
    with log.open("ab", buffering=0) as writer:
        for number in range(KEPT + 2):
            writer.write(b"%d" % number * 200 + b"\n")
            assert rotate([log, small, tmp_path / "none.log"], 100) == [log]
        writer.write(b"last\n")
    assert log.read_text() == "last\n"
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["a.log", "a.log.1", "a.log.2", "a.log.3", "b.log"]
    assert (tmp_path / "a.log.1").read_text()[0] == str(KEPT + 1)
    assert (tmp_path / "a.log.1").stat().st_mode & 0o077 == 0
