"""Marks of jobs: what a list may be asked for, each with its jobs from the newest on (triggers: ``baseline.sql``).

A mark is a hash of what it stands for, so whoever finds a job by its mark still looks at the job.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Index, Table, Text

from shared.db import metadata

marks = Table(
    "job_marks",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("mark", BigInteger, primary_key=True),
    Column("created_at", DateTime(timezone=True), primary_key=True),  # of the job
    Column("job_id", Text, primary_key=True),
)
Index("ix_job_marks_job", marks.c.job_id)
