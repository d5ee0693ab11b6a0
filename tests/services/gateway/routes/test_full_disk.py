"""A disk that fills up: what is refused leaves nothing, a reserve stays free, deleted files give their space back."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2 as httpx
import pytest

from services.gateway.settings import Settings
from shared import blobs
from shared.disk import Disk, disk_of
from tests.services.gateway.conftest import Gateway, serving
from tests.services.gateway.http.test_problems import assert_problem
from tests.services.gateway.routes.test_files import stored
from tests.services.gateway.routes.test_uploads import begin, offset_of, send
from tests.support.wait import until

MB = 1_000_000
#: Bytes of the disk, of which a tenth is the reserve.
SIZE = 40 * MB


@pytest.fixture
def small(gateway: Gateway, settings: Settings, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway whose files are on a disk of 40 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        stores = settings.stores.model_copy(update={"blob_url": folder.as_uri()})
        with serving(replace(settings, stores=stores)) as url:
            yield Gateway(url, gateway.engine, replace(settings, stores=stores))
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def used(gateway: Gateway) -> int:
    folder = gateway.settings.stores.blob_url.removeprefix("file://")
    return shutil.disk_usage(folder).used


def upload(client: httpx.Client, size: int) -> httpx.Response:
    return client.post("/v1/files?name=f", content=os.urandom(size))


def test_a_disk_keeps_a_reserve_and_warns_before_it_is_full() -> None:
    large, small = Disk(500_000 * MB, 1_000_000 * MB), Disk(100 * MB, 260 * MB)
    assert (large.reserve, large.nearly_full, large.warning) == (256 * MB, 1_000 * MB, None)
    assert (small.reserve, small.nearly_full, small.warning) == (26 * MB, 52 * MB, None)
    assert "nearly full" in (Disk(40 * MB, 260 * MB).warning or "")
    assert "is full" in (Disk(20 * MB, 260 * MB).warning or "")
    assert Disk(30 * MB, 260 * MB).takes(4 * MB)
    assert not Disk(30 * MB, 260 * MB).takes(5 * MB)


def test_refused_files_leave_nothing_and_a_reserve_stays_free(small: Gateway) -> None:
    with small.client() as client:
        assert upload(client, 15 * MB).status_code == 201
        assert upload(client, 15 * MB).status_code == 201
        before = used(small)
        assert_problem(upload(client, 15 * MB), 507, "storage_full")  # by its declared length
        endless = (bytes(MB) + os.urandom(1) for _ in range(30))
        assert_problem(client.post("/v1/files?name=f", content=endless), 507, "storage_full")  # of unknown length
        assert_problem(client.post("/v1/files", files={"file": ("f", os.urandom(12 * MB))}), 507, "storage_full")
        until(lambda: used(small) == before, "the space of what was refused is free")
        assert disk_of(small.settings.stores.blob_url.removeprefix("file://")).free >= SIZE // 10
        headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(15 * MB)}
        assert_problem(client.post("/v1/uploads", headers=headers), 507, "storage_full")


def test_parts_of_an_upload_for_which_the_disk_has_no_space_go_at_once(small: Gateway) -> None:
    with small.client("parts") as client:
        places = [begin(client, 15 * MB) for _ in range(3)]  # each would fit alone
        for place in places[:2]:
            assert send(client, place, 0, os.urandom(12 * MB)).status_code == 204
        before = used(small)
        assert before >= 24 * MB
        assert_problem(send(client, places[2], 0, os.urandom(15 * MB)), 507, "storage_full")
        assert client.head(places[2]).status_code == 404
        until(lambda: used(small) == before, "its parts are gone")
        assert offset_of(client, places[0]) == 12 * MB
        refused = send(client, places[0], 12 * MB, os.urandom(3 * MB))  # its file would be 15 MB more
        assert_problem(refused, 507, "storage_full")
        listed = client.get("/v1/uploads").json()["items"]
        assert [(each["received"], each["size"]) for each in listed] == [(12 * MB, 15 * MB)]
        until(lambda: used(small) < 13 * MB, "the parts of the first are gone")
        last = send(client, places[1], 12 * MB, os.urandom(3 * MB))
        assert last.status_code == 204
        assert client.get("/v1/uploads").json()["items"] == []
        until(lambda: used(small) < 16 * MB, "only the file is left")
        assert client.delete(last.headers["location"]).status_code == 204
        until(lambda: used(small) < MB, "its space is free")


def test_a_deleted_file_gives_its_space_back_at_once_unless_another_has_the_same(
    gateway: Gateway, client: httpx.Client, other: httpx.Client
) -> None:
    content = os.urandom(100_000)
    mine, theirs = (each.post("/v1/files?name=f", content=content).json() for each in (client, other))
    assert stored(gateway).count(mine["sha256"]) == 1
    assert client.delete(f"/v1/files/{mine['id']}").status_code == 204
    assert other.get(f"/v1/files/{theirs['id']}/content").content == content
    assert other.delete(f"/v1/files/{theirs['id']}").status_code == 204
    until(lambda: not any(mine["sha256"] in name or "#" in name for name in stored(gateway)), "the content is gone")


def test_content_that_a_writer_or_a_reader_holds_is_not_set_aside(tmp_path: Path) -> None:
    store = blobs.open_store(tmp_path.as_uri())
    blob = blobs.write(store, b"content")
    assert blobs.set_aside(store, blob.sha256) is None
    blobs.release(store, blob)
    blobs.fetch(store, blob.sha256, tmp_path / "read")
    assert blobs.set_aside(store, blob.sha256) is None
    (tmp_path / "read").unlink()
    aside = blobs.set_aside(store, blob.sha256)
    assert aside is not None
    again = blobs.write(store, b"content")  # meanwhile
    aside.put_back()
    aside = blobs.set_aside(store, blob.sha256)
    assert aside is None
    blobs.release(store, again)
    aside = blobs.set_aside(store, blob.sha256)
    assert aside is not None
    aside.put_back()
    with blobs.read(store, blob.sha256) as stream:
        assert stream.read() == b"content"
    assert blobs.set_aside(store, "0" * 64) is None


def test_content_that_a_killed_process_had_set_aside_is_put_back_by_the_sweep(tmp_path: Path) -> None:
    store = blobs.open_store(tmp_path.as_uri())
    kept, gone = blobs.write(store, b"kept"), blobs.write(store, b"gone")
    for blob in (kept, gone):
        blobs.release(store, blob)
        assert blobs.set_aside(store, blob.sha256) is not None
    later = datetime.now(UTC) + timedelta(hours=2)
    blobs.sweep(store, later, lambda hashes: {kept.sha256} & set(hashes))
    with blobs.read(store, kept.sha256) as stream:
        assert stream.read() == b"kept"
    with pytest.raises(FileNotFoundError):
        blobs.read(store, gone.sha256).read()


def test_a_nearly_full_disk_is_reported_before_it_is_full(small: Gateway) -> None:
    with small.client("acme", "read", "write", "admin") as admin:
        filler = Path(small.settings.stores.blob_url.removeprefix("file://")) / "filler"
        assert admin.get("/readyz").json()["dependencies"]["files"]["state"] == "ok"
        filler.write_bytes(bytes(disk_of(filler.parent).free - 6 * MB))

        def files() -> dict[str, str]:
            state: dict[str, str] = admin.get("/readyz").json()["dependencies"]["files"]
            return state

        until(lambda: files()["state"] == "degraded", "readiness reports it")
        assert "nearly full: " in files()["reason"]
        checks = {each["name"]: each for each in admin.get("/v1/doctor").json()["items"]}
        assert (checks["disk"]["ok"], checks["disk"]["grave"]) == (False, False)
        assert "nearly full" in checks["disk"]["finding"]
        numbers = dict(line.split() for line in admin.get("/metrics").text.splitlines() if line.startswith("disk_"))
        assert float(numbers["disk_free_bytes"]) < float(numbers["disk_nearly_full_bytes"])
        assert upload(admin, MB).status_code == 201  # it is not full yet
        filler.write_bytes(bytes(disk_of(filler.parent).free + filler.stat().st_size - 2 * MB))
        assert_problem(upload(admin, 1000), 507, "storage_full")
        until(lambda: "is full: " in files()["reason"], "readiness says that it is full")
        filler.unlink()
        until(lambda: files()["state"] == "ok", "it has space again")


def test_uploads_of_one_tenant_are_listed_in_pages(client: httpx.Client, other: httpx.Client) -> None:
    places = [begin(client, 10 + number) for number in range(3)]
    first = client.get("/v1/uploads", params={"limit": 2}).json()
    second = client.get("/v1/uploads", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [each["size"] for each in [*first["items"], *second["items"]]][:3] == [12, 11, 10]
    assert other.get("/v1/uploads").json()["items"] == []
    for place in places:
        assert client.delete(place).status_code == 204
    assert client.get("/v1/uploads").json()["items"] == []


def test_two_who_write_and_delete_the_same_content_never_lose_it(gateway: Gateway, client: httpx.Client) -> None:
    """Deleting one of two files while the other is uploaded, again and again."""
    content = os.urandom(5_000)

    async def race() -> None:
        async with httpx.AsyncClient(base_url=gateway.url, headers=client.headers, timeout=60) as each:

            async def once() -> None:
                made = (await each.post("/v1/files?name=f", content=content)).json()
                read = await each.get(f"/v1/files/{made['id']}/content")
                assert read.status_code == 200, read.text
                assert (await each.delete(f"/v1/files/{made['id']}")).status_code == 204

            async def many() -> None:
                for _ in range(15):
                    await once()

            await asyncio.gather(*(many() for _ in range(8)))

    asyncio.run(race())
