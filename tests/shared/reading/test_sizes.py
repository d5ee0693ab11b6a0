"""What a small file may expand to is added up before it is expanded, so refusing it takes little memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq
import pytest

_ROWS = 30_000
_LONG = "x" * 100_000
#: Prints its own peak: what ``getrusage`` gives counts the process that started this one too.
_READ = """
import json, sys
from pathlib import Path
from shared.reading.read import Reader, answer

Path("/proc/self/clear_refs").write_text("5")
answer(sys.argv[1], sys.argv[2], Reader(False, "with_missing", False), 5, {})
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(json.dumps({"peak_mb": int(peak.split()[1]) / 1024}))
"""


def _dictionary() -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(_ROWS, dtype=np.int32)), pa.array([_LONG]))


def _runs() -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array([_ROWS], pa.int32()), pa.array([_LONG]))


def _views() -> pa.Array:
    one = pa.array([_LONG], pa.string_view())
    return pa.Array.from_buffers(
        pa.string_view(), _ROWS, [None, pa.py_buffer(bytes(one.buffers()[1]) * _ROWS), one.buffers()[2]]
    )


def _list_views() -> pa.Array:
    offsets, sizes = pa.array([0] * _ROWS, pa.int32()), pa.array([_ROWS] * _ROWS, pa.int32())
    return pa.ListViewArray.from_arrays(offsets, sizes, pa.array(range(_ROWS)))


def _dictionaries_in_lists() -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(_ROWS + 1), pa.int32()), _dictionary())


@pytest.mark.slow(seconds=2.5)
@pytest.mark.parametrize("column", [_dictionary, _runs, _views, _list_views, _dictionaries_in_lists])
def test_cells_that_share_what_they_hold_are_refused_in_little_memory(tmp_path: Path, column: object) -> None:
    assert callable(column)
    table = pa.table({"a": column()})
    with pa_ipc.new_file(str(tmp_path / "file"), table.schema) as writer:
        writer.write_table(table)
    _assert_refused(tmp_path / "file", "data.arrow")


@pytest.mark.slow(seconds=2.5)
def test_a_parquet_file_whose_dictionary_is_named_by_every_row_is_refused_in_little_memory(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": _dictionary()}), tmp_path / "file", compression="zstd", store_schema=False)
    assert (tmp_path / "file").stat().st_size < 10_000
    _assert_refused(tmp_path / "file", "data.parquet")


def _assert_refused(path: Path, name: str) -> None:
    process = subprocess.run([sys.executable, "-c", _READ, path, name], capture_output=True, text=True, check=True)
    report, usage = map(json.loads, process.stdout.splitlines())
    assert "MB in memory, at most 300 MB" in report["refused"]
    assert usage["peak_mb"] < 500  # of about 3 GB


@pytest.mark.slow(seconds=3)
def test_a_dictionary_that_fits_is_expanded(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode()})
    with pa_ipc.new_file(str(tmp_path / "file"), table.schema) as writer:
        writer.write_table(table)
    process = subprocess.run(
        [sys.executable, "-c", _READ, tmp_path / "file", "a.arrow"], capture_output=True, text=True, check=True
    )
    assert json.loads(process.stdout.splitlines()[0])["head"] == [["x"], [None], ["x"]]
