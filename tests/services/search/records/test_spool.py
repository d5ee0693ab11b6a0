"""Files are read in a process with bounds; what comes back is the same as in one without."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.search.records.files import RecordFile, read
from services.search.records.shape import Refused
from services.search.records.spool import spooled
from shared.bounded_process import Bounds
from shared.contracts.search import TableSpec
from shared.errors import InvalidRequest, JobCancelled, UnreadableFile

SPEC = TableSpec.model_validate({"fields": {"seats": "integer"}})
BOUNDS = Bounds(memory_mb=512, cpu_seconds=20)


def spool(folder: Path, content: bytes, name: str = "auto", bounds: Bounds = BOUNDS) -> list[object]:
    (folder / "file").write_bytes(content)
    with (folder / "file").open("rb") as file, spooled(file, name, "t", SPEC, Flag(), bounds) as records:
        items: list[object] = list(records)
        assert len(records) == len(items) == len(list(records))
        return items


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b'{"id": 1, "seats": 5}\n{oops\n5\n{"id": "\\ud800", "big": 123456789012345678901234567890}\n',
        b"id,name\n1,a\n2,b,c\n",
        b'[{"id": 1}, 5]',
        b"[]",
        b"",
    ],
)
def test_what_comes_out_is_what_was_read(tmp_path: Path, content: bytes) -> None:
    if not content:
        with pytest.raises(UnreadableFile, match="the file is empty"):
            spool(tmp_path, content)
    else:
        with (tmp_path / "again").open("w+b") as file:
            file.write(content)
            file.flush()
            assert spool(tmp_path, content) == list(read(RecordFile(file, "t", SPEC)))


def parquet_bomb(target: Path) -> None:
    """A few kilobytes; each of many rows names one long text."""
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, dtype=np.int32)), pa.array(["x" * 10_000_000]))
    table = pa.table({"id": words})
    pq.write_table(table, target, compression="zstd", store_schema=False, dictionary_pagesize_limit=1 << 30)
    assert target.stat().st_size < 10_000


def xml_bomb(target: Path) -> None:
    """Elements that are not events are kept by the parser."""
    with target.open("wb") as file:
        file.write(b"<schedule>")
        for _ in range(300):
            file.write(b"<a/>" * 10_000)
        file.write(b"</schedule>")


def json_bomb(target: Path) -> None:
    target.write_bytes(b'{"schedule": [' + b"{}," * 15_000_000 + b"{}]}")


def row_bomb(target: Path) -> None:
    target.write_bytes(b"id,a\n1" + b"," * 80_000_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bomb", "format", "memory_mb"),
    [(parquet_bomb, "auto", 512), (xml_bomb, "pentabarf", 64), (json_bomb, "pretalx", 128), (row_bomb, "csv", 128)],
)
def test_a_file_that_grows_is_refused_and_takes_no_memory_of_the_worker(
    tmp_path: Path, bomb: Callable[[Path], None], format: str, memory_mb: int
) -> None:
    bomb(tmp_path / "file")
    before = peak_mb()
    with (
        (tmp_path / "file").open("rb") as file,
        pytest.raises(UnreadableFile, match=r"the file cannot be read: .*(memory|is longer than)"),
        spooled(file, format, "t", SPEC, Flag(), Bounds(memory_mb=memory_mb, cpu_seconds=60)),
    ):
        pytest.fail("it was read")
    assert peak_mb() - before < 50


def peak_mb() -> float:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


@pytest.mark.slow
def test_a_list_that_is_longer_than_memory_is_read(tmp_path: Path) -> None:
    entry = json.dumps({"id": "x", "text": "y" * 100_000})
    (tmp_path / "file").write_text(f"[{', '.join([entry] * 1000)}]")
    with (tmp_path / "file").open("rb") as file, spooled(file, "auto", "t", SPEC, Flag(), Bounds(memory_mb=64)) as all_:
        assert len(all_) == 1000


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"[1 2]", b"[1,]", b"[,1]", b"[1", b"[1] x", b"[1}", b'[{"a": nan}]', b"["])
def test_a_list_that_is_no_json_is_unreadable(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UnreadableFile):
        spool(tmp_path, content, "json")


def test_numbers_at_the_end_of_what_was_read_so_far_are_whole() -> None:
    content = b"[" + b" " * 65_533 + b"12, 34]"
    assert [
        item.code for item in read(RecordFile(io.BytesIO(content), "t", SPEC, "json")) if isinstance(item, Refused)
    ] == [
        "not_an_object",
        "not_an_object",
    ]


def test_a_record_that_is_too_large_is_refused_alone(tmp_path: Path) -> None:
    large = json.dumps({"id": "a", "text": "\u00e4" * 3_000_000}, ensure_ascii=False).encode()
    first, second = spool(tmp_path, large + b'\n{"id": "b"}\n', bounds=Bounds())
    assert isinstance(first, Refused)
    assert (first.code, second) == ("too_large", {"id": "b", "facets": {}, "fields": {}})


def test_a_format_that_there_is_not_is_the_request_s_fault(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no format"):
        spool(tmp_path, b"x", "yaml")


def test_a_cancelled_job_stops_reading(tmp_path: Path) -> None:
    cancelled = Flag()
    cancelled.set()
    (tmp_path / "file").write_bytes(b"id\n1\n")
    with (
        (tmp_path / "file").open("rb") as file,
        pytest.raises(JobCancelled),
        spooled(file, "csv", "t", SPEC, cancelled),
    ):
        pytest.fail("it was read")
