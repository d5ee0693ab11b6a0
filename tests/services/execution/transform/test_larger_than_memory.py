"""Files that would not fit in memory are aggregated in place, by code that may use much less."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.execution.transform import loading
from services.execution.transform.runner import TransformLimits
from shared.contracts.execute import Limits
from shared.contracts.files import FileInfo
from shared.contracts.transform import TransformResult
from shared.errors import InvalidData, InvalidRequest
from tests.services.execution.transform.support import TransformJobs
from tests.support.context import MemoryFiles

pytestmark = pytest.mark.slow(seconds=3)

GROUPS, ROWS = 40, 500_000  #: 20 million rows, 320 MB
SQL = "```sql\nSELECT k, sum(v) AS total, count(*) AS n FROM data GROUP BY k ORDER BY k\n```"
POLARS = (
    "```python\nimport polars as pl\n"
    "result = data.group_by('k').agg(total=pl.col('v').sum(), n=pl.len()).sort('k')\n```"
)


@dataclass
class OnDisk(MemoryFiles):
    """One upload that is a file already."""

    path: Path = field(kw_only=True)
    name: str = "large.parquet"

    def info(self, file_id: str) -> FileInfo:
        size = self.path.stat().st_size
        return FileInfo(id=file_id, name=self.name, size=size, sha256="00", media_type="x/parquet")

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        os.link(self.path, target)
        return self.info(file_id)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    keys = np.arange(ROWS) % 10
    with pq.ParquetWriter(path, pa.schema({"k": pa.int64(), "v": pa.int64()}), use_dictionary=False) as writer:
        for number in range(GROUPS):
            writer.write_table(pa.table({"k": keys, "v": np.random.default_rng(number).integers(0, 2**40, ROWS)}))
    yield path
    path.unlink()


@pytest.fixture
def few_megabytes(jobs: TransformJobs, large: Path) -> TransformJobs:
    code = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=128, disk_mb=64)
    return replace(jobs, files=OnDisk(path=large), limits=TransformLimits(code=code))


def run(jobs: TransformJobs, *replies: str, **wanted: object) -> TransformResult:
    return jobs.transform(*replies, data=[{"name": "data", "file_id": "one"}], **{"confirm": "never", **wanted})


@pytest.mark.parametrize(
    ("code", "wanted"), [(SQL, {"language": "sql"}), (POLARS, {"dataframe": "polars"})], ids=["sql", "polars"]
)
def test_it_is_aggregated_within_less_than_it_holds(
    few_megabytes: TransformJobs, large: Path, code: str, wanted: dict[str, object]
) -> None:
    result = run(few_megabytes, code, assertions=["rows == 10"], **wanted)
    assert result.table is not None
    totals = np.zeros(10, dtype=np.int64)
    for batch in pq.ParquetFile(large).iter_batches(batch_size=100_000):
        totals += batch.column("v").to_numpy().reshape(-1, 10).sum(axis=0)  # the keys go round from 0 to 9
    assert [list(row) for row in result.table.rows] == [
        [k, int(total), GROUPS * ROWS // 10] for k, total in enumerate(totals)
    ]
    assert result.effect is not None
    assert result.effect.rows == {"before": GROUPS * ROWS, "after": 10}
    asked = few_megabytes.script.asked[0].messages[-1].content
    assert "20,000,000 rows" in asked
    assert "larger than memory" in asked
    assert "from 0 to 9" in asked


@pytest.mark.parametrize(
    ("code", "wanted"), [(SQL, {"language": "sql"}), (POLARS, {"dataframe": "polars"})], ids=["sql", "polars"]
)
def test_names_that_repeat_are_numbered(
    jobs: TransformJobs, tmp_path: Path, code: str, wanted: dict[str, object]
) -> None:
    path = tmp_path / "pair.parquet"
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("k", pa.int64())])
    columns = [np.arange(ROWS) % 10, np.ones(ROWS, dtype=np.int64), np.zeros(ROWS, dtype=np.int64)]
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(30):
            writer.write_table(pa.Table.from_arrays([pa.array(each) for each in columns], schema=schema))
    limits = TransformLimits(code=Limits(wall_seconds=60, cpu_seconds=60, memory_mb=256, disk_mb=64))
    result = run(replace(jobs, files=OnDisk(path=path), limits=limits), code, assertions=["rows == 10"], **wanted)
    assert result.table is not None
    assert [list(row) for row in result.table.rows] == [[k, 30 * ROWS // 10, 30 * ROWS // 10] for k in range(10)]
    assert any("numbered: k_2" in note for each in result.inputs for note in each.notes)


CSV_ROWS = 14_000_000  #: 84 MB of text, more than 300 MB as a table


@pytest.mark.parametrize(
    ("code", "wanted"), [(SQL, {"language": "sql"}), (POLARS, {"dataframe": "polars"})], ids=["sql", "polars"]
)
def test_a_text_table_becomes_a_parquet_file(
    jobs: TransformJobs, tmp_path: Path, code: str, wanted: dict[str, object]
) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.write(b"k,v,w\n")
        for _ in range(10):
            file.write(b"1,2,3\n" * (CSV_ROWS // 10))
    limits = TransformLimits(code=Limits(wall_seconds=60, cpu_seconds=60, memory_mb=256, disk_mb=64))
    small = replace(jobs, files=OnDisk(path=path, name="large.csv"), limits=limits)
    result = run(small, code, assertions=["rows == 1"], **wanted)
    assert result.table is not None
    assert list(result.table.rows[0]) == [1, 2 * CSV_ROWS, CSV_ROWS]
    asked = small.script.asked[0].messages[-1].content
    assert "14,000,000 rows" in asked
    assert "larger than memory" in asked


def test_a_bad_row_of_a_large_text_table_is_named(
    jobs: TransformJobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_TABLE_BYTES", 5)
    path = tmp_path / "large.csv"
    path.write_text("k,v\n1,2\n3\n")
    with pytest.raises(InvalidData, match="line 3 has 1 fields"):
        run(replace(jobs, files=OnDisk(path=path, name="large.csv")), language="sql")
    path.write_text('[{"k": 1}]')
    with pytest.raises(InvalidData, match="the file is json"):
        run(replace(jobs, files=OnDisk(path=path, name="large.json")), language="sql")


def test_the_whole_of_it_is_too_much(few_megabytes: TransformJobs) -> None:
    """So the limit is one: what reads everything meets it."""
    collected = "```python\nresult = data.collect(engine='in-memory').sort('v').head(1)\n```"
    result = run(few_megabytes, collected, POLARS, dataframe="polars")
    assert [each.outcome for each in result.iterations] == ["error", "result"]
    assert "memory" in result.iterations[0].message


def test_code_cannot_write_to_the_file(few_megabytes: TransformJobs, large: Path) -> None:
    before = large.stat().st_mtime_ns
    code = """```python
import glob, os
import polars as pl
for name in glob.glob("/proc/self/map_files/*") + [f"/proc/self/fd/{number}" for number in range(5, 64)]:
    try:
        os.close(os.open(name, os.O_WRONLY))
        raise SystemExit(name)
    except OSError:
        pass
result = data.select(pl.len()).collect()
```"""
    assert run(few_megabytes, code, dataframe="polars").table is not None
    assert large.stat().st_mtime_ns == before


def test_what_needs_all_its_values_is_refused(few_megabytes: TransformJobs) -> None:
    with pytest.raises(InvalidData, match="SQL and polars read what they need"):
        run(few_megabytes)
    with pytest.raises(InvalidRequest, match="cannot be masked"):
        run(few_megabytes, language="sql", preview={"mask": ["v"]})
    with pytest.raises(InvalidRequest, match="say it of the result alone"):
        run(few_megabytes, language="sql", assertions=["sum(total) == sum(v)"])
