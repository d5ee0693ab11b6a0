"""What the meter makes of the kernel's facts about processes, however they are called."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.execution.sandbox.guest.meter import FairShare, Meter, Uncounted

_STAT = b"5 (%s) S 1 5 5 0 -1 4194560 100 0 0 0 7 3 200 100 20 0 1 0 4711 1000 100\n"
_STATUS = (
    b"Name:\t%s\nUmask:\t0022\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\nRssAnon:\t 100 kB\nRssShmem:\t  20 kB\nThreads:\t3\n"
)


class Fake:
    """A /proc with one process; its number is ours, as its clock is read from the kernel itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / str(os.getpid())
        self.folder.mkdir()
        self.says(b"plain")
        self.descriptor = os.open(folder, os.O_RDONLY)

    def says(self, name: bytes) -> None:
        self.put("status", _STATUS % name)
        self.put("stat", _STAT % name)

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)


@pytest.fixture
def proc(tmp_path: Path) -> Iterator[Fake]:
    fake = Fake(tmp_path)
    yield fake
    os.close(fake.descriptor)


_NAMES = (b"plain", b"\rRssAnon:", b"a) R 0 0 (", b")", b"\xff", b"\x0bThreads:", b"", b"\\nRssAnon:")


@pytest.mark.parametrize("name", _NAMES)
def test_a_process_counts_under_any_name(proc: Fake, name: bytes) -> None:
    proc.says(name)
    reading = Meter(proc.descriptor).read()
    assert (reading.processes, reading.tasks, reading.memory_kb) == (1, 3, 120)
    assert reading.cpu_seconds >= 300 / os.sysconf("SC_CLK_TCK")
    assert Meter(proc.descriptor).most_resident_kb(os.getpid()) == 300


def test_a_process_that_has_ended_is_passed_over(proc: Fake) -> None:
    (proc.folder / "stat").unlink()
    assert Meter(proc.descriptor).read().processes == 0


_BROKEN = (("stat", b""), ("stat", b"5 (x) S 1"), ("status", b"RssAnon:\tmany kB\n"))


@pytest.mark.parametrize(("file", "content"), _BROKEN)
def test_a_process_that_cannot_be_counted_is_no_end_of_it(proc: Fake, file: str, content: bytes) -> None:
    proc.put(file, content)
    with pytest.raises(Uncounted):
        Meter(proc.descriptor).read()


def test_a_process_whose_files_cannot_be_read_is_not_passed_over(proc: Fake) -> None:
    (proc.folder / "status").unlink()
    (proc.folder / "status").mkdir()
    with pytest.raises(Uncounted, match="EISDIR"):
        Meter(proc.descriptor).read()


def test_shared_pages_are_counted_once_where_the_kernel_tells_them(proc: Fake) -> None:
    share = b"Pss_Anon:  70 kB\nPss_Shmem: 5 kB\nPrivate_Dirty: 40 kB\n"
    proc.put("smaps_rollup", b"1-2 ---p 00000000 00:00 0 [rollup]\n" + share)
    init = proc.folder.parent / "1"
    init.mkdir()
    (init / "smaps_rollup").write_bytes(b"Pss_Anon: 25 kB\nPrivate_Dirty: 5 kB\n")
    meter = Meter(proc.descriptor)
    assert meter.fairly_added_kb(0, True) == 75
    assert meter.fairly_added_kb(100, True) == 75 - 20  # as much as init shares with the warm interpreter
    assert meter.fairly_added_kb(15, True) == 75 - 15  # but never more than there was
    assert meter.fairly_added_kb(30, False) == 75 - 30
    assert FairShare(meter).over(54, 100, True)
    assert not FairShare(meter).over(55, 100, True)
    proc.put("smaps_rollup", b"")  # as of one whose first thread has ended
    assert meter.fairly_added_kb(100, True) == 120 - 100
