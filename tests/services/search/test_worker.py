"""The worker process whole: real Postgres, Redis, Celery, the embedded store, and models scripted over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import Engine, RowMapping, select, text

from services.host.prefork import PreforkedProcess
from services.reconciler.recovery import reclaim_expired
from shared import blobs, collections
from shared.collections import search_attempts
from shared.contracts.search import CollectionInput
from shared.db import connect
from shared.jobs.delivery import notifications
from shared.jobs.record import submission
from shared.jobs.record.tables import job_events, jobs, workers
from shared.settings import StoreSettings
from tests.services.search.conftest import CONFERENCE, EXHIBITORS, SESSIONS
from tests.support.embedding import weights
from tests.support.platform import ROOT, spawn
from tests.support.rows import job_row
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

#: Processes start and are restarted here: on a busy machine a test may take minutes.
pytestmark = [pytest.mark.slow(seconds=2), pytest.mark.timeout(600)]


class WorkerInstallation:
    """One search worker, and what a gateway would do."""

    def __init__(self, stores: StoreSettings, home: Path, scripted: ScriptedLlm) -> None:
        self.engine: Engine = connect(stores.database_url)
        self.redis = Redis.from_url(stores.redis_url)
        self.ready = home / "ready"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "QDRANT_"))}
        self.environment = {
            **inherited,
            **scripted.environment(["anthropic"]),
            "DATABASE_URL": stores.database_url,
            "REDIS_URL": stores.redis_url,
            "BLOB_URL": stores.blob_url,
            "ASSAY_HOME": str(home),
            "ASSAY_LEASE_SECONDS": "2",
            # More than a busy machine takes.
            "ASSAY_SEARCH_SECONDS": "400",
            "ASSAY_SEARCH_MODEL_SECONDS": "100",
            "ASSAY_READY_FILE": str(self.ready),
        }
        self.worker = self.start()

    def start(self, **settings: str) -> PreforkedProcess:
        self.ready.unlink(missing_ok=True)
        worker = spawn("services.search", {**self.environment, **settings})
        until(lambda: self.ready.exists() or worker.poll() is not None, "the worker started", 120)
        return worker

    def stop_worker(self) -> None:
        self.worker.send_signal(signal.SIGTERM)
        self.worker.wait(60)

    def stop(self) -> None:
        self.stop_worker()
        self.engine.dispose()
        self.redis.close()

    def collection(self, name: str) -> None:
        wanted = CollectionInput.model_validate({"name": name, "tables": CONFERENCE})
        with self.engine.begin() as connection:
            connection.execute(collections.create("t", wanted))

    def run(self, kind: str, given: Mapping[str, Any]) -> RowMapping:
        job_id = self.submit(kind, given)
        return until(lambda: self.ended(job_id), f"the end of the {kind} job", 160)

    def submit(self, kind: str, given: Mapping[str, Any]) -> str:
        row = job_row(kind=kind, input=dict(given))
        job_id = str(row["id"])
        with self.engine.begin() as connection:
            connection.execute(submission.submit(row))
        notifications.notify(self.redis, kind, job_id)
        return job_id

    def events(self, job_id: str) -> list[RowMapping]:
        query = select(job_events).where(job_events.c.job_id == job_id).order_by(job_events.c.seq)
        with self.engine.connect() as connection:
            return list(connection.execute(query).mappings())

    def ended(self, job_id: str) -> RowMapping | None:
        with self.engine.connect() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one()
        return row if row["state"] not in ("queued", "running") else None


@pytest.fixture(scope="module")
def installation(
    stores: StoreSettings, scripted_llm: ScriptedLlm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerInstallation]:
    weights()
    opened = WorkerInstallation(stores, tmp_path_factory.mktemp("home"), scripted_llm)
    opened.collection("c")
    try:
        for table, records in (("sessions", SESSIONS), ("exhibitors", EXHIBITORS)):
            done = opened.run("ingest", {"collection": "c", "table": table, "records": records})
            assert done["state"] == "succeeded", done["error"]
        yield opened
    finally:
        opened.stop()


def test_an_ingest_counts_and_measures(installation: WorkerInstallation) -> None:
    done = installation.run("ingest", {"collection": "c", "table": "sessions", "records": SESSIONS})
    assert done["result"]["unchanged"] == 3
    assert 0.15 < done["result"]["thresholds"]["master_floor"] < done["result"]["thresholds"]["master"] < 0.6
    with installation.engine.connect() as connection:
        row = connection.execute(collections.find("t", "c")).mappings().one()
    assert collections.view(row, "minilm").records == {"sessions": 3, "exhibitors": 1}


def test_a_question_is_planned_rewritten_and_answered_by_a_model(
    installation: WorkerInstallation, scripted_llm: ScriptedLlm
) -> None:
    plan = {"queries": [{"table": "sessions", "search_mode": "master", "query_text": "grandmother's apple strudel"}]}
    rewrite = {
        "reasoning": "The words differ.",
        "strategy": "rewrite",
        "user_message": "Let me try other words.",
        "new_queries": [{"table": "sessions", "search_mode": "master", "query_text": "tuning a large database"}],
    }
    answer = {"answer": "See Scaling Postgres.", "citations": [{"table": "sessions", "id": "s1"}]}
    scripted_llm.play(
        {"when": {"any": "You plan searches"}, "reply": {"json": plan}},
        {"when": {"any": "You reflect on a search"}, "reply": {"json": rewrite}},
        {"when": {"any": "You answer a person's question"}, "reply": {"json": answer}},
    )
    done = installation.run("search", {"collection": "c", "question": "how do I keep my elephant of a database fast"})
    assert done["state"] == "succeeded", done["error"]
    result = done["result"]
    assert (result["verdict"], result["answer"]) == ("found", "See Scaling Postgres.")
    assert [hit["label"] for hit in result["hits"]["sessions"]][:1] == ["rewritten"]
    whole_text = {"facet": None, "start": 0, "end": 58}
    assert result["citations"] == [{"table": "sessions", "id": "s1", **whole_text}]
    assert done["usage"]["llm_calls"] == 3
    kinds = [event["type"] for event in installation.events(done["id"])]
    assert {"progress", "thinking", "turn_taken", "chunk", "llm_call"} <= set(kinds)
    with installation.engine.connect() as connection:
        attempts = (
            select(search_attempts).where(search_attempts.c.job_id == done["id"]).order_by(search_attempts.c.number)
        )
        rows = connection.execute(attempts).mappings().all()
    assert [(row["strategy"], row["gain"] > 0) for row in rows] == [("initial", False), ("rewrite", True)]


@pytest.mark.parametrize("fault", ["server_error", "half_json", "refusal", "empty", "disconnect"])
def test_whatever_the_model_does_the_question_is_answered(
    installation: WorkerInstallation, scripted_llm: ScriptedLlm, fault: str
) -> None:
    scripted_llm.play({"fault": fault, "reply": {"text": '{"queries": [{"table": "sessions"'}})
    given = {"collection": "c", "question": "tuning a large postgres database"}
    done = installation.run("search", given)
    assert done["state"] == "succeeded", done["error"]
    assert [hit["id"] for hit in done["result"]["hits"]["sessions"]][:1] == ["s1"]
    assert done["warnings"]


def test_the_worker_reports_the_default_embedding(installation: WorkerInstallation) -> None:
    with installation.engine.connect() as connection:
        facts = connection.execute(select(workers.c.facts).where(workers.c.service == "search")).scalars().all()
    assert {"embedding": "auto"} in facts


def test_an_unknown_collection_fails_the_job_clearly(installation: WorkerInstallation) -> None:
    done = installation.run("search", {"collection": "nothing", "question": "q"})
    assert (done["state"], done["error"]["code"], done["error"]["status"]) == ("failed", "unknown_collection", 404)


def test_a_second_worker_on_the_same_folder_stands_by_and_says_why(installation: WorkerInstallation) -> None:
    script = (
        "import sys; from pathlib import Path; from services.search.store.open import open_store\n"
        "open_store(None, Path(sys.argv[1]))"
    )
    folder = Path(installation.environment["ASSAY_HOME"]) / "search"
    second = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        env={**installation.environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "another process owns the embedded search store" in second.stderr


def test_a_killed_worker_is_replaced_and_nothing_is_lost(installation: WorkerInstallation) -> None:
    installation.worker.kill()
    installation.worker.wait(10)
    installation.worker = installation.start()
    plan = [{"table": "sessions", "search_mode": "master", "query_text": "tuning a large postgres database"}]
    done = installation.run("search", {"collection": "c", "question": "q", "plan": plan, "answer": False})
    assert [hit["id"] for hit in done["result"]["hits"]["sessions"]] == ["s1"]


def test_a_worker_killed_while_it_reads_a_hostile_file_leaves_nothing(
    installation: WorkerInstallation, stores: StoreSettings, tmp_path: Path
) -> None:
    """The reader ends with its worker; another worker refuses the file, and the table is as it was."""
    installation.stop_worker()
    installation.worker = installation.start(TMPDIR=str(tmp_path))
    blob = blobs.write(blobs.open_store(stores.blob_url), b'{"schedule": [' + b"{}," * 8_000_000 + b"{}]}")
    given = {"collection": "c", "table": "sessions", "file_id": str(uuid.uuid4()), "format": "pretalx"}
    with installation.engine.begin() as connection:
        connection.execute(
            blobs.files.insert().values(
                id=given["file_id"], tenant_id="t", name="file", media_type="x/y", sha256=blob.sha256, size=blob.size
            )
        )
    job_id = installation.submit("ingest", given)
    reader = until(lambda: _readers_of(installation.worker.pid), "a process that reads the file", 60)
    installation.worker.kill()
    installation.worker.wait(10)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in reader), "the end of the reader", 60)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 100_000  # nothing of the file
    installation.worker = installation.start()

    until(lambda: reclaim_expired(installation.engine, installation.redis, 3), "the end of the lease", 60)
    notifications.notify(installation.redis, "ingest", job_id)
    done = until(lambda: installation.ended(job_id), "the end of the job", 160)
    assert (done["state"], done["error"]["code"]) == ("failed", "unreadable_file")
    plan = [{"table": "sessions", "search_mode": "master", "query_text": "tuning a large postgres database"}]
    found = installation.run("search", {"collection": "c", "question": "q", "plan": plan, "answer": False})
    assert [hit["id"] for hit in found["result"]["hits"]["sessions"]] == ["s1"]


def _readers_of(worker: int) -> list[int]:
    """The forks that run a task with bounds, and the server that made them; none while only its spare fork waits."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    children = [pid for pid, parent in parents.items() if parent == worker]
    with suppress(OSError):
        servers = [pid for pid in children if b"shared.fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        forks = [pid for pid, parent in parents.items() if parent in servers]
        return [*servers, *forks] if len(forks) > 1 else []
    return []


def test_a_deleted_collection_is_swept_from_the_store(installation: WorkerInstallation) -> None:
    installation.collection("doomed")
    installation.run("ingest", {"collection": "doomed", "table": "sessions", "records": SESSIONS})
    folder = Path(installation.environment["ASSAY_HOME"]) / "search"
    with installation.engine.begin() as connection:
        gone = connection.execute(collections.drop("t", "doomed")).scalar_one()
    assert list(folder.glob(f"{gone}.*"))
    installation.run("ingest", {"collection": "c", "table": "sessions", "records": []})
    assert not list(folder.glob(f"{gone}.*"))
    with installation.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM dropped_collections")).scalar() == 0


def test_results_are_what_the_contract_says(installation: WorkerInstallation) -> None:
    plan = [{"table": "sessions", "query_text": "tuning a large postgres database"}]
    given = {"collection": "c", "question": "q", "plan": plan, "answer": False, "max_reflections": 0}
    done = installation.run("search", given)
    assert set(done["result"]) == {
        *("verdict", "answer", "citations", "hits", "zero_result_tables", "attempts", "original_plan", "thinking"),
        *("why_empty", "evaluation"),
    }
    assert json.dumps(done["result"])


def test_a_model_that_hangs_is_given_up_after_its_limit_and_that_is_said(
    installation: WorkerInstallation, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"fault": "hang", "reply": {"text": "late"}})
    installation.stop_worker()
    installation.worker = installation.start(ASSAY_SEARCH_MODEL_SECONDS="2")  # the last test: it is not restarted
    done = installation.run("search", {"collection": "c", "question": "tuning a large postgres database"})
    assert done["state"] == "succeeded", done["error"]
    assert [hit["id"] for hit in done["result"]["hits"]["sessions"]][:1] == ["s1"]
    assert "No model answered (search.plan: providers_failed within 2.0 s)" in done["warnings"][0]
