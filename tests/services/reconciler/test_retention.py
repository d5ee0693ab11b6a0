"""Retention deletes what is past its time, and no file that is still referred to."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

from sqlalchemy import select, text

from services.reconciler.retention import Retention
from shared import blobs, conversations
from shared.blobs import files
from shared.db import connect
from shared.jobs.content import files as job_files
from shared.jobs.record import statements, submission
from shared.settings import StoreSettings
from tests.support.rows import job_row


def test_old_jobs_take_their_files_with_them_and_uploads_stay(stores: StoreSettings) -> None:
    engine, store = connect(stores.database_url), blobs.open_store(stores.blob_url)
    with engine.begin() as connection:
        connection.execute(submission.submit(job_row(id="j", tenant_id="a", conversation_id="silent")))
        connection.execute(submission.submit(job_row(id="k", tenant_id="a", conversation_id="spoken")))
        connection.execute(conversations.add_pair("a", "spoken", "k", "question", "answer"))
        connection.execute(statements.cancel("k", "a"))
        connection.execute(statements.cancel("j", "a"))
        for name, job_id in (("made", "j"), ("uploaded", None), ("orphan", "deleted long ago")):
            blob = blobs.write(store, io.BytesIO(name.encode()))
            connection.execute(
                files.insert().values(
                    id=name,
                    tenant_id="a",
                    name=name,
                    size=blob.size,
                    sha256=blob.sha256,
                    media_type="text/plain",
                    job_id=job_id,
                )
            )
        connection.execute(text("UPDATE jobs SET finished_at = finished_at - interval '31 days'"))
    folder = Path(stores.blob_url.removeprefix("file://"))
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 7200,) * 2)

    retention = Retention(engine, store, retention_days=30, upload_days=90, text_days=7)
    retention.delete_expired()
    retention.delete_expired()

    with engine.connect() as connection:
        assert connection.execute(select(files.c.name)).scalars().all() == ["uploaded"]
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar() == 0
        assert connection.execute(text("SELECT id FROM conversations")).scalars().all() == ["spoken"]
    assert [path.read_bytes() for path in folder.rglob("*") if path.is_file()] == [b"uploaded"]
    engine.dispose()


def test_an_old_upload_goes_unless_a_job_still_needs_it(stores: StoreSettings) -> None:
    engine, store = connect(stores.database_url), blobs.open_store(stores.blob_url)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE jobs, files CASCADE"))
        for name in ("old", "needed", "young"):
            blob = blobs.write(store, io.BytesIO(name.encode()))
            connection.execute(job_files.add(name, "a", name, "text/plain", blob.sha256, blob.size))
        connection.execute(submission.submit(job_row(id="q", tenant_id="a", input={"files": [{"id": "needed"}]})))
        connection.execute(text("UPDATE files SET created_at = created_at - interval '91 days' WHERE id <> 'young'"))

    Retention(engine, store, retention_days=30, upload_days=90, text_days=7).delete_expired()

    with engine.connect() as connection:
        assert set(connection.execute(select(files.c.id)).scalars()) == {"needed", "young"}
    engine.dispose()


def test_a_round_goes_on_until_nothing_expired_is_left(stores: StoreSettings) -> None:
    engine, store = connect(stores.database_url), blobs.open_store(stores.blob_url)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE jobs, conversations, idempotency_keys CASCADE"))
        connection.execute(
            text(
                """
                INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, finished_at)
                SELECT 'j' || n, 'a', 'execute', 'succeeded', '{}', 'c' || n, 'k', now() - interval '40 days'
                FROM generate_series(1, 4500) n
                """
            )
        )
        connection.execute(text("INSERT INTO conversations (id, tenant_id) SELECT conversation_id, 'a' FROM jobs"))
        connection.execute(
            text(
                "INSERT INTO idempotency_keys (tenant_id, key, fingerprint, created_at) "
                "SELECT 'a', 'k' || n, '', now() - (n || ' hours')::interval FROM generate_series(1, 5000) n"
            )
        )
    Retention(engine, store, retention_days=30, upload_days=90, text_days=7).delete_expired()
    with engine.connect() as connection:
        left = "SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM conversations)"
        assert tuple(connection.execute(text(left)).one()) == (0, 0)
        assert connection.execute(text("SELECT count(*) FROM idempotency_keys")).scalar() == 23
    engine.dispose()
