"""A backup of a running installation comes back in a fresh one, whole or not at all."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.assay.terminal import Shell, plain, written
from tests.support.platform import spawn
from tests.support.wait import until

TALKS = [
    {
        "id": "pg",
        "name": "Scaling Postgres",
        "text": "A relational database of many terabytes.",
        "fields": {"year": 2025},
    },
    {"id": "roses", "name": "Growing roses", "text": "Soil, water and sun for the garden.", "fields": {"year": 2026}},
]
TABLES = {"talks": {"facets": {}, "fields": {"year": "integer"}}}


@contextmanager
def search_worker(shell: Shell) -> Iterator[None]:
    """Start one in the installation, which has none; it ends cleanly, and so releases the store."""
    status = shell("status", "-o", "json").json
    home = shell.env["ASSAY_HOME"]
    stores = {
        "DATABASE_URL": status["database_url"],
        "REDIS_URL": status["redis_url"],
        "BLOB_URL": f"file://{home}/blobs",
    }
    worker = spawn("services.search", {**plain(), **stores, "ASSAY_HOME": home})
    serving = "SELECT 1 FROM workers WHERE 'ingest' = ANY(kinds) AND split_part(id, ':', 2) = %s"
    try:
        with psycopg.connect(status["database_url"], autocommit=True) as connection:
            until(
                lambda: connection.execute(serving, (str(worker.pid),)).fetchone() is not None, "a worker serves", 120
            )
        yield
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)


@pytest.mark.slow(seconds=20)
@pytest.mark.timeout(600)  # two installations are started; a minute by itself
def test_a_backup_is_restored_into_a_fresh_installation(shell: Shell, servers_folder: Path) -> None:
    program = shell.folder / "kept.py"
    program.write_text("open('out.txt', 'w').write('kept')\n6 * 7\n")
    job = shell("execute", str(program), "--json").json
    data = shell.folder / "kept.csv"
    data.write_text("city,n\nOslo,1\n")
    uploaded = shell("files", "put", str(data), "--json").json
    assert shell("collection", "create", "kept", written(shell, "tables.json", json.dumps(TABLES))).status == 0
    talks = written(shell, "talks.jsonl", "\n".join(map(json.dumps, TALKS)))
    with search_worker(shell):
        assert asked(shell, "ingest", talks, "-c", "kept")["ingested"] == 2
    file = shell.folder / "all.backup"
    made = shell("backup", str(file))
    assert made.status == 0, made.talk
    assert "with the search store" in made.talk
    assert file.stat().st_mode & 0o077 == 0

    home = servers_folder / "restored"
    fresh = Shell(shell.folder, {**shell.env, "ASSAY_HOME": str(home), "ASSAY_REPLICAS": "search=1,flows=0"})
    cut = shell.folder / "cut.backup"
    cut.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert fresh("restore", "none").status == 2
    for bad in (cut, data):
        refused = fresh("restore", str(bad))
        assert refused.status == 1
        assert refused.talk.startswith("Nothing was restored: ")
    try:
        restored = fresh("restore", str(file))
        assert restored.status == 0, restored.talk
        again = fresh("restore", str(file))
        assert again.status == 1
        assert "--replace" in again.talk
        assert fresh("restore", str(file), "--replace").status == 0
        started = fresh("up", "-d")
        assert started.status == 0, started.talk
        assert fresh("jobs", "get", job["id"], "--json").json["result"] == job["result"]
        told = [each("jobs", "events", job["id"], "--json").json for each in (shell, fresh)]
        assert told[0] == told[1] != []
        assert fresh("files", "get", uploaded["id"], "-").out == data.read_text()
        found = asked(fresh, "search", "who speaks about databases?", "-c", "kept")
        assert [hit["id"] for hit in found["hits"]["talks"]][:1] == ["pg"]
        assert asked(fresh, "ingest", talks, "-c", "kept")["unchanged"] == 2
        assert shell("restore", str(file)).talk == "Assay is running here: `assay down` first.\n"
    finally:
        fresh("down")
        shell("collection", "rm", "kept")
        shutil.rmtree(home, ignore_errors=True)


def asked(shell: Shell, *words: str) -> Any:
    """The result of the job that the command submits."""
    ran = shell(*words, "--json")
    assert ran.status == 0, ran.talk
    return json.loads(ran.out.splitlines()[-1])["result"]
