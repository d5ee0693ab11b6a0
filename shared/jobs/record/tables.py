"""The tables of jobs. Postgres holds all state; Redis only carries notifications."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from shared.contracts.jobs import JobState
from shared.db import metadata

_NOW = text("clock_timestamp()")
_STATES = ", ".join(f"'{state}'" for state in JobState)


def time_column(name: str, *, default: bool = False) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=not default, server_default=_NOW if default else None)


def _json(name: str, default: str) -> Column[object]:
    return Column(name, JSONB, nullable=False, server_default=text(f"'{default}'::jsonb"))


batches = Table(
    "batches",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    time_column("created_at", default=True),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="queued"),
    Column("priority", SmallInteger, nullable=False, server_default="5"),
    Column("input", JSONB, nullable=False),
    Column("result", JSONB),
    Column("error", JSONB),
    _json("warnings", "[]"),
    _json("labels", "{}"),
    _json("budget", "{}"),
    _json("usage", "{}"),
    _json("overrides", "{}"),  # reproducible, model; of a replay: prompt version
    Column("conversation_id", Text, nullable=False),
    Column("replayed_from", Text),
    Column("batch_id", Text),
    Column("actor", Text, nullable=False),  # the id of the API key
    Column("request_id", Text),
    Column("trace_context", Text),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("crashes", Integer, nullable=False, server_default="0"),
    # Fences of the runs that count as crashes because their worker fell silent; negative once the worker came back.
    Column("silences", ARRAY(BigInteger), nullable=False, server_default="{}"),
    Column("suspect", Boolean, nullable=False, server_default=text("false")),  # may have killed a worker: runs alone
    Column("alone", Boolean, nullable=False, server_default=text("false")),  # now the only one of its worker
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("worker_id", Text),
    Column("model_digest", Text),  # of the secret with which the run calls the model broker
    Column("last_seq", Integer, nullable=False, server_default="0"),  # of job_events
    # Of the queued and running jobs of its conversation the one that may run; triggers (baseline.sql) maintain it.
    Column("head", Boolean, nullable=False, server_default=text("true")),
    time_column("lease_until"),
    time_column("condemned_until"),  # has crashed too often: dead then, unless a worker comes back
    time_column("run_at", default=True),
    time_column("notified_at"),
    time_column("cancel_requested_at"),
    time_column("created_at", default=True),
    time_column("started_at"),
    time_column("finished_at"),
    Column("stored_bytes", BigInteger, nullable=False, server_default="0"),  # of input and result
    Column("webhook", JSONB),
    Column("webhook_attempts", Integer, nullable=False, server_default="0"),
    time_column("webhook_due_at"),
    Column("webhook_done", Boolean, nullable=False, server_default=text("false")),
    CheckConstraint(f"state IN ({_STATES})", name="state"),
    ForeignKeyConstraint(["batch_id", "tenant_id"], ["batches.id", "batches.tenant_id"]),
    # Every job is updated a few times in its short life: leave space in the page.
    postgresql_with={"fillfactor": "80"},
)
_QUEUED = text("state = 'queued'")
_ACTIVE = text("state IN ('queued', 'running')")
Index("ix_jobs_turn", jobs.c.kind, jobs.c.tenant_id, jobs.c.priority.desc(), jobs.c.id, postgresql_where=_QUEUED)
Index("ix_jobs_served", jobs.c.kind, jobs.c.tenant_id, jobs.c.started_at)
Index("ix_jobs_order", jobs.c.conversation_id, jobs.c.id, postgresql_where=_ACTIVE)
Index("ix_jobs_list", jobs.c.tenant_id, jobs.c.created_at.desc(), jobs.c.id.desc())
Index(
    "ix_jobs_conversation",
    jobs.c.conversation_id,
    jobs.c.kind,
    jobs.c.finished_at,
    postgresql_where=text("state = 'succeeded'"),
)
Index(
    "ix_jobs_heads",
    jobs.c.kind,
    jobs.c.tenant_id,
    jobs.c.priority.desc(),
    jobs.c.id,
    postgresql_where=text("CASE WHEN head THEN state END = 'queued'"),
)
Index(
    "ix_jobs_running",
    jobs.c.tenant_id,
    jobs.c.conversation_id,
    jobs.c.kind,
    postgresql_where=text("state = 'running'"),
)
Index("ix_jobs_condemned", jobs.c.condemned_until, postgresql_where=text("condemned_until IS NOT NULL"))
#: From 1 kB: of most jobs it then has to know nothing.
Index(
    "ix_jobs_stored",
    jobs.c.tenant_id,
    postgresql_include=["stored_bytes"],
    postgresql_where=text("stored_bytes >= 1024"),
)
#: Written so that no statement about one tenant's queue can take it.
Index(
    "ix_jobs_waiting",
    jobs.c.kind,
    jobs.c.created_at,
    postgresql_where=text("CASE state WHEN 'queued' THEN true END"),
)
Index("ix_jobs_of_conversation", jobs.c.conversation_id, jobs.c.id)
Index("ix_jobs_list_state", jobs.c.tenant_id, jobs.c.state, jobs.c.created_at.desc(), jobs.c.id.desc())
Index("ix_jobs_list_kind", jobs.c.tenant_id, jobs.c.kind, jobs.c.state, jobs.c.created_at.desc(), jobs.c.id.desc())
Index("ix_jobs_replays", jobs.c.replayed_from, postgresql_where=text("replayed_from IS NOT NULL"))
Index("ix_jobs_batch", jobs.c.batch_id, postgresql_where=text("batch_id IS NOT NULL"))
Index("ix_jobs_finished", jobs.c.finished_at, postgresql_where=text("finished_at IS NOT NULL"))
Index(
    "ix_jobs_webhook_due",
    jobs.c.tenant_id,
    func.coalesce(jobs.c.webhook_due_at, jobs.c.finished_at),
    postgresql_where=text("webhook IS NOT NULL AND NOT webhook_done AND finished_at IS NOT NULL"),
)

#: A partition holds the events of the jobs of a day, which a job's id encodes (``migrations/baseline.sql``): a
#: statement that names the job, or a range of jobs, uses one. A trigger of ``jobs`` deletes them with their job.
job_events = Table(
    "job_events",
    metadata,
    Column("job_id", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),  # under which the event was written: the history checker reads it
    time_column("at", default=True),
    _json("data", "{}"),
    postgresql_partition_by="RANGE (job_id)",
)

job_forms = Table(
    "job_forms",
    metadata,
    Column("job_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("media_type", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    ForeignKeyConstraint(["job_id", "tenant_id"], ["jobs.id", "jobs.tenant_id"], ondelete="CASCADE"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),  # SHA-256 of method, path and body
    Column("status", Integer),  # null while the first request is in flight
    Column("headers", JSONB),
    Column("body", LargeBinary),
    time_column("created_at", default=True),
)
Index("ix_idempotency_keys_created_at", idempotency_keys.c.created_at)

workers = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("service", Text, nullable=False),
    Column("kinds", ARRAY(Text), nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("version", Text, nullable=False),
    _json("facts", "{}"),  # what the service says of itself: languages, isolation, or why it does not consume
    time_column("started_at", default=True),
    time_column("seen_at", default=True),
)
