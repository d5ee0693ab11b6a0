"""Tables of results over HTTP: every row in the requested form, for their tenant only."""

from __future__ import annotations

import io
import os
import tempfile
import time
from pathlib import Path

import httpx2 as httpx
import polars as pl
import pytest
from uuid_utils import uuid7

from services.gateway.jobs.submit import new_id
from services.gateway.tables.conversion import remove_leftovers
from shared import blobs, bounded_process
from shared.jobs.content import files
from shared.jobs.record.tables import jobs
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import assert_problem
from tests.support.rows import job_row
from tests.support.wait import until

FRAME = pl.DataFrame({"n": range(20_000), "text": ["=1", "a|b"] * 10_000})


@pytest.fixture(scope="module")
def job(gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = Path(tmp_path_factory.mktemp("table")) / "t.parquet"
    FRAME.write_parquet(path)
    return finished(gateway, blobs.write(blobs.open_store(gateway.settings.stores.blob_url), path), FRAME.height)


def finished(gateway: Gateway, blob: blobs.Blob, rows: int) -> str:
    """A transform that has ended with this table."""
    file_id = new_id()
    columns = [{"name": "n", "type": "int"}, {"name": "text", "type": "string"}]
    table = {"columns": columns, "rows": [], "row_count": rows, "file_id": file_id}
    row = job_row(id=str(uuid7()), tenant_id="acme", kind="transform", state="succeeded", result={"table": table})
    with gateway.engine.begin() as connection:
        added = files.add(file_id, "acme", "t.parquet", "application/vnd.apache.parquet", blob.sha256, blob.size)
        connection.execute(added)
        connection.execute(jobs.insert().values(row))
    return str(row["id"])


@pytest.mark.slow
def test_every_row_comes_in_the_form_that_is_asked_for(client: httpx.Client, job: str) -> None:
    answer = client.get(f"/v1/jobs/{job}/result?format=csv")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{job}.csv"')
    lines = answer.text.splitlines()
    assert (len(lines), lines[-1]) == (20_001, "19999,a|b")
    stream = client.get(f"/v1/jobs/{job}/result?format=arrow").content
    assert pl.read_ipc_stream(io.BytesIO(stream)).equals(FRAME)
    whole = client.get(f"/v1/jobs/{job}/result?format=parquet")
    assert int(whole.headers["content-length"]) == len(whole.content)
    assert pl.read_parquet(io.BytesIO(whole.content)).equals(FRAME)
    assert client.get(f"/v1/jobs/{job}/result").json()["table"]["row_count"] == 20_000


@pytest.mark.slow
def test_a_reader_that_leaves_takes_nothing_from_the_next_ones(client: httpx.Client, job: str) -> None:
    for _ in range(6):
        with client.stream("GET", f"/v1/jobs/{job}/result?format=jsonl") as answer:
            assert next(answer.iter_bytes(100))
    assert client.get(f"/v1/jobs/{job}/result?format=jsonl").text.count("\n") == 20_000


@pytest.mark.slow
def test_what_cannot_be_given_is_said(gateway: Gateway, client: httpx.Client, other: httpx.Client, job: str) -> None:
    assert_problem(client.get(f"/v1/jobs/{job}/result?format=docx"), 422, "invalid_request")
    assert_problem(other.get(f"/v1/jobs/{job}/result?format=csv"), 404, "not_found")
    gone = finished(gateway, blobs.Blob("0" * 64, 10), 1)
    assert_problem(client.get(f"/v1/jobs/{gone}/result?format=csv"), 404, "not_found")
    store = blobs.open_store(gateway.settings.stores.blob_url)
    broken = finished(gateway, blobs.write(store, b"PAR1 this is none"), 1)
    refused = client.get(f"/v1/jobs/{broken}/result?format=csv")
    assert "damaged" in str(assert_problem(refused, 422, "invalid_request")["detail"])
    long = client.get(f"/v1/jobs/{finished(gateway, blobs.write(store, b'x'), 2_000_000)}/result?format=xlsx")
    assert_problem(long, 422, "invalid_request")
    assert "1,048,575 rows" in long.json()["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sqlite", "csv", "xlsx"])
def test_nothing_is_left_of_a_download_that_is_broken_off(
    gateway: Gateway, client: httpx.Client, tmp_path: Path, form: str
) -> None:
    pl.DataFrame({"a": ["x" * 3000] * 5000}).write_parquet(tmp_path / "t.parquet")
    stored = blobs.write(blobs.open_store(gateway.settings.stores.blob_url), tmp_path / "t.parquet")
    job = finished(gateway, stored, 5000)
    with client.stream("GET", f"/v1/jobs/{job}/result?format={form}") as answer:
        assert next(answer.iter_bytes(1000))
    folder = Path(tempfile.gettempdir())
    server = bounded_process._SERVERS._process
    patterns = (f"assay-table-{os.getpid()}-*", f"assay-task-{server.pid if server else 0}-*")
    until(lambda: not any(list(folder.glob(pattern)) for pattern in patterns), "nothing is left", 30)


@pytest.mark.slow
def test_what_a_form_takes_on_the_disk_is_bounded_by_the_quota(
    gateway: Gateway, client: httpx.Client, admin: httpx.Client, tmp_path: Path
) -> None:
    pl.DataFrame({"a": ["x" * 3000] * 20_000}).write_parquet(tmp_path / "t.parquet")
    stored = blobs.write(blobs.open_store(gateway.settings.stores.blob_url), tmp_path / "t.parquet")
    job = finished(gateway, stored, 20_000)
    assert admin.put("/v1/tenants/acme/limits", json={"storage_bytes": 20 << 20}).status_code == 200
    try:
        time.sleep(1.1)  # limits are known for a second
        assert_problem(client.get(f"/v1/jobs/{job}/result?format=sqlite"), 422, "invalid_request")
        assert client.get(f"/v1/jobs/{job}/result?format=csv").status_code == 200
    finally:
        admin.put("/v1/tenants/acme/limits", json={"storage_bytes": None})


def test_folders_of_processes_that_are_no_more_are_removed(tmp_path: Path) -> None:
    names = [f"assay-table-{os.getpid()}-mine", "assay-table-4999999-dead", "assay-table-other"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "whole.sqlite").touch()
    remove_leftovers(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == [names[0], names[2]]
